import { MemorySaver, type TierSaver } from "@stratigraph/core";
import { PostgresSaver, postgres } from "@stratigraph/postgres";
import { RedisSaver, redis } from "@stratigraph/redis";
import { S3Saver } from "@stratigraph/s3";
import { TieredSaver } from "@stratigraph/tiered";
import { freshDatabase, sharedRedis } from "../../../../../test/servers/shared.ts";
import { openBucket } from "../../../../engine/s3/test/support/bucket.ts";

export interface Opened {
  readonly saver: TierSaver;
  close(): Promise<void>;
}

/** The storages that journals are tested on. */
export const savers: readonly [name: string, open: () => Promise<Opened>][] = [
  ["memory", async () => ({ saver: new MemorySaver(), close: async () => undefined })],
  [
    "postgres",
    async () => {
      const database = await freshDatabase();
      const saver = PostgresSaver.fromConnString(database.url);
      await saver.setup();
      return { saver, close: async () => void (await saver.end(), await database.drop()) };
    },
  ],
  [
    "redis",
    async () => {
      const saver = new RedisSaver({ ...(await sharedRedis()) });
      await saver.setup();
      return { saver, close: async () => await saver.end() };
    },
  ],
  [
    "s3",
    async () => {
      const { client, bucket, close } = await openBucket();
      const saver = new S3Saver({ client, bucket });
      await saver.setup();
      return { saver, close: async () => void (await saver.end(), await close()) };
    },
  ],
  [
    "redis>postgres",
    async () => {
      const [database, place] = await Promise.all([freshDatabase(), sharedRedis()]);
      const saver = new TieredSaver({
        hot: redis({ ...place, ttl: "5m" }),
        warm: postgres({ url: database.url }),
      });
      await saver.setup();
      return { saver, close: async () => void (await saver.end(), await database.drop()) };
    },
  ],
];

/** Memory, and one real server: for suites of graphs. */
export const fewSavers = savers.slice(0, 2);
