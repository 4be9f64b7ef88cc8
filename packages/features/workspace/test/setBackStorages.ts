import type { TierSaver } from "@stratigraph/core";
import { keepsWorkspaces } from "@stratigraph/core/internal";
import type { WorkspaceStorage } from "@stratigraph/core/tier";
import { PostgresSaver } from "@stratigraph/postgres";
import { RedisSaver } from "@stratigraph/redis";
import { Redis } from "ioredis";
import { afterAll } from "vitest";
import { query } from "../../../../test/servers/postgres.ts";
import { freshDatabase, sharedRedis } from "../../../../test/servers/shared.ts";
import { postgresBackups } from "../../../../test/setBack/postgresBackups.ts";
import { redisBackups } from "../../../../test/setBack/redisBackups.ts";

const closing: (() => unknown)[] = [];
afterAll(async () => {
  for (const close of closing.toReversed()) await close();
});

/** A storage that can be set back to what it was. */
export interface SetBackStorage {
  open(): TierSaver;
  mark(): Promise<unknown>;
  setBack(mark: unknown): Promise<void>;
  /** Has the next versions be skipped, as a promoted server does; absent where none does. */
  jump?(): Promise<void>;
  /** Has entries from a version on be those of a server whose clock is an hour behind. */
  clockBehind?(from: number): Promise<void>;
}

export const storages: readonly (readonly [string, () => Promise<SetBackStorage>])[] = [
  [
    "PostgreSQL",
    async () => {
      const { url, drop } = await freshDatabase();
      closing.push(drop);
      const open = (): PostgresSaver => {
        const saver = PostgresSaver.fromConnString(url);
        closing.push(() => saver.end());
        return saver;
      };
      await open().setup();
      const version = "pg_get_serial_sequence('stratigraph.items', 'version')::regclass";
      const jump = async (): Promise<void> =>
        void (await query(url, `select setval(${version}, nextval(${version}) + 32)`));
      const clockBehind = async (from: number): Promise<void> =>
        void (await query(
          url,
          "update stratigraph.workspace_log set at = at - interval '1 h' where version >= $1",
          [from],
        ));
      return { ...postgresBackups(url), open, jump, clockBehind };
    },
  ],
  [
    "Redis",
    async () => {
      const { url, prefix } = await sharedRedis();
      const client = new Redis(url);
      closing.push(() => client.disconnect());
      return { ...redisBackups(client, prefix), open: () => new RedisSaver({ client, prefix }) };
    },
  ],
];

export function storageOf({ tier }: TierSaver): WorkspaceStorage {
  if (!keepsWorkspaces(tier)) throw new Error("no workspaces");
  return tier.workspaces;
}

/** Lets readers look no more once they have seen all up to a version. */
export function holding(saver: TierSaver, name: string, version: number, readers: number) {
  const workspaces = storageOf(saver);
  const log = workspaces.log.bind(workspaces);
  let release!: () => void;
  const released = new Promise<void>((resolve) => (release = resolve));
  const held = new Promise<void>((resolve) => {
    let count = 0;
    workspaces.log = async (workspace, query) => {
      if (workspace === name && query.after === version) {
        count += 1;
        if (count === readers) resolve();
        await released;
      }
      return await log(workspace, query);
    };
  });
  return { held, release };
}
