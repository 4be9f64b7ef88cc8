import { postgres } from "@stratigraph/postgres";
import { redis } from "@stratigraph/redis";
import { s3 } from "@stratigraph/s3";
import { FaultyTier } from "@stratigraph/testing";
import { TieredSaver } from "@stratigraph/tiered";
import { expect } from "vitest";
import { freshDatabase, sharedRedis } from "../../../../../test/servers/shared.ts";
import { openBucket } from "../../../../engine/s3/test/support/bucket.ts";

const month = 30 * 86_400_000;

/** redis>postgres>s3 on real servers, opened as often as there are processes; its clock is a month ahead, so that all is idle. */
export async function openStack() {
  const [database, place, bucket] = await Promise.all([freshDatabase(), sharedRedis(), openBucket()]);
  const opened: TieredSaver[] = [];
  const open = async (): Promise<{ saver: TieredSaver; warm: FaultyTier }> => {
    const warm = new FaultyTier(postgres({ url: database.url }));
    const saver = new TieredSaver(
      {
        hot: redis({ ...place, ttl: "5m" }),
        warm,
        cold: s3({ client: bucket.client, bucket: bucket.bucket }),
        archiveAfter: "7d",
        pause: "0ms",
        breaker: { timeout: "10s" },
      },
      () => Date.now() + month,
    );
    opened.push(saver);
    await saver.setup();
    return { saver, warm };
  };
  return {
    open,
    /** Archives what is warm; `threads` of it at least. */
    archive: async (threads: number): Promise<void> => {
      const { steps } = await opened[0]!.maintain();
      expect(steps.filter(({ what }) => what === "archive").length).toBeGreaterThanOrEqual(threads);
    },
    close: async () => {
      for (const saver of opened) await saver.end();
      await Promise.all([database.drop(), bucket.close()]);
    },
  };
}
