import { mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Tier } from "@stratigraph/core";
import { postgres } from "@stratigraph/postgres";
import { redis } from "@stratigraph/redis";
import { folder } from "@stratigraph/s3";
import { Redis } from "ioredis";
import { fastFolder } from "../../../../../../test/servers/fastFolder.ts";
import { query } from "../../../../../../test/servers/postgres.ts";
import { freshDatabase, sharedRedis } from "../../../../../../test/servers/shared.ts";

/** A storage in which what names a thread can be damaged. */
export interface Opened {
  readonly tier: Tier;
  /** Damages what names a thread, deleted or not. */
  damage(id: string): Promise<unknown>;
  /** Damages the head of a thread, as the tier reads it. */
  damageHead?: ((id: string) => Promise<unknown>) | undefined;
  /** Damages the records of a thread, but not what names it. */
  damageRecords?: ((id: string) => Promise<unknown>) | undefined;
  close(): Promise<unknown>;
}

/** Storages that can be damaged, by name. */
export const storages: readonly (readonly [string, () => Promise<Opened>])[] = [
  [
    "PostgreSQL",
    async () => {
      const database = await freshDatabase();
      const key = (id: string): string => `'\\x02${Buffer.from(id).toString("hex")}'`;
      const damage = (id: string): Promise<unknown> =>
        query(
          database.url,
          `update stratigraph.threads set key = '\\xff00'::bytea || key where key = ${key(id)}`,
        );
      const damageHead = (id: string): Promise<unknown> =>
        query(
          database.url,
          `update stratigraph.heads h set id = '\\xff00'::bytea || h.id from stratigraph.threads t
            where t.thread = h.thread and t.key = ${key(id)} and h.ns = ''`,
        );
      const damageRecords = (id: string): Promise<unknown> =>
        query(
          database.url,
          `update stratigraph.checkpoints c set body = '\\xff00'::bytea || substr(c.body, 9)
            from stratigraph.threads t where t.thread = c.thread and t.key = ${key(id)}`,
        );
      const close = () => database.drop();
      return { tier: postgres({ url: database.url }), damage, damageHead, damageRecords, close };
    },
  ],
  [
    "Redis",
    async () => {
      const shared = await sharedRedis();
      const raw = new Redis(shared.url);
      const damage = (id: string): Promise<unknown> => raw.hset(`${shared.prefix}t:{${id}}`, "id", "another");
      const damageHead = (id: string): Promise<unknown> => raw.hset(`${shared.prefix}t:{${id}}`, "rev", "x");
      return { tier: redis(shared), damage, damageHead, close: async () => raw.disconnect() };
    },
  ],
  [
    "a folder",
    async () => {
      const path = await mkdtemp(join(fastFolder(), "stratigraph-damaged-"));
      const damage = async (id: string): Promise<void> => {
        const files = await readdir(path, { recursive: true });
        const heads = files.filter((file) => file.includes(id) && file.endsWith("head"));
        expect(heads).toHaveLength(1);
        await writeFile(join(path, heads[0]!), "damaged");
      };
      return { tier: folder({ path }), damage, close: () => rm(path, { recursive: true }) };
    },
  ],
];
