import { postgres } from "@stratigraph/postgres";
import { redis } from "@stratigraph/redis";
import { s3 } from "@stratigraph/s3";
import { testDifferential, testGraphs } from "@stratigraph/testing";
import { TieredSaver } from "@stratigraph/tiered";
import { Redis } from "ioredis";
import pg from "pg";
import { openBucket } from "../../../s3/test/support/bucket.ts";
import { freshDatabase, sharedRedis } from "../../../../../test/servers/shared.ts";
import { inRounds, sparser } from "../../../../../test/rounds.ts";

// LangGraph's graphs on redis>postgres>s3, on real servers, with every thread archived between any two of its turns: each
// turn, each state and each history begins with a thread of which the warm tier has its heads only.

/** Archives all that is stored before anything is read. */
class ArchivingSaver extends TieredSaver {
  /** Threads that were archived and evicted. */
  archived = 0;

  override async getTuple(
    config: Parameters<TieredSaver["getTuple"]>[0],
  ): ReturnType<TieredSaver["getTuple"]> {
    await this.#archiveAll();
    return await super.getTuple(config);
  }

  override async *list(...args: Parameters<TieredSaver["list"]>): ReturnType<TieredSaver["list"]> {
    await this.#archiveAll();
    yield* super.list(...args);
  }

  async #archiveAll(): Promise<void> {
    const { steps } = await this.maintain();
    for (const { what, done, error } of steps) {
      if (error !== undefined) throw error;
      if (what === "archive" && done) this.archived += 1;
    }
  }
}

/** @param fewest how many archived threads a whole suite has to bring with few rounds */
const opening = (fewest: number) => async () => {
  const [database, shared, bucket] = await Promise.all([freshDatabase(), sharedRedis(), openBucket()]);
  // The savers share their connections, as those of one process do.
  const pool = new pg.Pool({ connectionString: database.url, max: 8 });
  const client = new Redis(shared.url);
  const savers: ArchivingSaver[] = [];
  const second = async (): Promise<ArchivingSaver> => {
    const saver = new ArchivingSaver(
      {
        hot: redis({ client, prefix: shared.prefix, ttl: "5m" }),
        warm: postgres({ pool }),
        cold: s3({ client: bucket.client, bucket: bucket.bucket }),
        archiveAfter: "0s",
        pause: "0ms",
      },
      // Tiers know to the minute when a thread was written.
      () => Date.now() + 120_000,
    );
    savers.push(saver);
    return saver;
  };
  const saver = await second();
  await saver.setup();
  return {
    saver,
    second,
    close: async () => {
      for (const each of savers) await each.end();
      expect(savers.reduce((sum, { archived }) => sum + archived, 0)).toBeGreaterThan(
        inRounds({ few: fewest, all: 100, soak: 200 }),
      );
      client.disconnect();
      await pool.end();
      await Promise.all([database.drop(), bucket.close()]);
    },
  };
};

testGraphs("redis>postgres>s3, archived between all turns", opening(10), sparser);
testDifferential("redis>postgres>s3, archived between all turns", opening(50), sparser);
