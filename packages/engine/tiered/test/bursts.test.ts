import { postgres } from "@stratigraph/postgres";
import { redis } from "@stratigraph/redis";
import { FaultyTier } from "@stratigraph/testing";
import { TieredSaver, type BreakerOptions } from "@stratigraph/tiered";
import { available } from "../../../../test/servers/available.ts";
import { freshDatabase, sharedRedis, type FreshDatabase } from "../../../../test/servers/shared.ts";
import { put, text, valueOf } from "./support.ts";
import { tracedWhile } from "../../../../test/tracedWhile.ts";

// A process is busy with something else for a while: the answers of a healthy Redis wait for the process, not the process for Redis.

const threads = Array.from({ length: 20 }, (_, n) => `t${n}`);

/** Keeps the event loop from doing anything else. */
function block(ms: number): void {
  const until = performance.now() + ms;
  while (performance.now() < until);
}

describe.skipIf(!available.redis || !available.postgres)("a burst of work in this process", () => {
  let database: FreshDatabase;
  beforeAll(async () => {
    database = await freshDatabase();
  });
  afterAll(() => database.drop());

  /** A stack on real servers whose threads are in Redis. */
  async function opened(breaker: BreakerOptions = {}) {
    const { url, prefix } = await sharedRedis();
    const clock = { now: 0 };
    const hot = new FaultyTier(redis({ url, prefix, ttl: "5m" }));
    const warm = postgres({ url: database.url });
    const saver = new TieredSaver({ hot, warm, breaker }, () => clock.now);
    onTestFinished(() => saver.end());
    await saver.setup();
    for (const thread of threads) {
      await saver.deleteThread(thread);
      await put(saver, thread, 1, text("one"));
    }
    await saver.tier.idle();
    return { saver, hot, clock };
  }

  /** Reads all threads at once; once everything has been sent, the process is busy. */
  async function readInBurst(saver: TieredSaver, ms: number): Promise<void> {
    const reads = Promise.all(threads.map((thread) => valueOf(saver, thread)));
    process.nextTick(block, ms);
    expect(await reads).toEqual(threads.map(() => text("one")));
  }

  test.each([130, 1000])("of %i ms: hits stay hits, and no breaker opens", async (ms) => {
    const { saver } = await opened();
    const events = await tracedWhile(async () => {
      await readInBurst(saver, ms);
      await readInBurst(saver, 0);
    });
    expect(saver.tier.counters[0]).toMatchObject({ hits: 40, misses: 0, dropped: 0 });
    expect(events.filter(({ type }) => type === "breaker")).toEqual([]);
  });

  test("while copies are under way: none is dropped", async () => {
    const { saver } = await opened();
    const puts = Promise.all(threads.map((thread) => put(saver, thread, 2, text("two"))));
    for (let n = 0; n < 4; n += 1) setTimeout(block, n * 5, 300);
    await puts;
    setImmediate(block, 1000);
    await saver.tier.idle();
    expect(saver.tier.counters[0]).toMatchObject({ dropped: 0, waiting: 0 });
  });

  test("at the call that tries a tier again: the tier is used again", async () => {
    const { saver, hot, clock } = await opened({ openFor: "1s" });
    hot.failNext("read", new Error("away"), { times: 2 });
    for (let n = 0; n < 2; n += 1) await valueOf(saver, "t0");
    expect(saver.tier.counters[0]).toMatchObject({ misses: 2 });
    clock.now += 1001;
    const trying = valueOf(saver, "t0");
    process.nextTick(block, 400);
    await trying;
    await saver.tier.idle();
    await readInBurst(saver, 0);
    expect(saver.tier.counters[0]).toMatchObject({ hits: 21, misses: 2 });
  });
});
