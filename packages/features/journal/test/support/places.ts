import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { MemoryTier, TierSaver } from "@stratigraph/core";
import { createCheckpointer, type CheckpointerConfig } from "stratigraph";
import { inRounds } from "../../../../../test/rounds.ts";
import { freshDatabase, sharedRedis } from "../../../../../test/servers/shared.ts";

/** A storage that several processes can open, except memory. */
export interface OpenedSaver {
  readonly saver: TierSaver;
  /** What `createCheckpointer` takes in another process; undefined for memory. */
  readonly place?: Place | undefined;
  close(): Promise<void>;
}

export type Place = Readonly<Record<string, string>>;

async function opened(place: Place, remove: () => Promise<unknown>): Promise<OpenedSaver> {
  const saver = await createCheckpointer(place as unknown as CheckpointerConfig);
  const close = async () => {
    await saver.end();
    await remove();
  };
  return { saver, place, close };
}

export async function openPostgres(): Promise<OpenedSaver> {
  const { url, drop } = await freshDatabase();
  return await opened({ postgres: url }, drop);
}

const all: readonly (readonly [name: string, open: () => Promise<OpenedSaver>])[] = [
  ["memory", async () => ({ saver: new TierSaver(new MemoryTier()), close: async () => undefined })],
  [
    "PGlite",
    async () => {
      const folder = mkdtempSync(join(tmpdir(), "journal-"));
      const remove = async () => rmSync(folder, { recursive: true, force: true });
      return await opened({ pglite: join(folder, "database") }, remove);
    },
  ],
  ["PostgreSQL", openPostgres],
  [
    "redis>postgres",
    async () => {
      const [{ url, drop }, redis] = await Promise.all([freshDatabase(), sharedRedis()]);
      const hot = `${redis.url}?prefix=${encodeURIComponent(redis.prefix)}`;
      return await opened({ hot, warm: url }, drop);
    },
  ],
];

/** The savers that transactions, batches and events are tested on: with few rounds memory, and a server that processes share. */
export const savers = inRounds({
  few: all.filter(([name]) => name === "memory" || name === "PostgreSQL"),
  all,
});
