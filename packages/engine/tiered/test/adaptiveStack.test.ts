import { InvalidOptionError, MemoryTier, TierSaver, type Tier } from "@stratigraph/core";
import { postgres } from "@stratigraph/postgres";
import { redis } from "@stratigraph/redis";
import { BoundedMemoryTier, TieredSaver, TierStack, boundedMemory } from "@stratigraph/tiered";
import { Redis } from "ioredis";
import { freshDatabase, sharedRedis } from "../../../../test/servers/shared.ts";
import { randomNumbers } from "../../../../test/bench/randomNumbers.ts";
import { put, stepsOf, text, valueOf } from "./support.ts";

describe("on Redis and PostgreSQL", () => {
  let database: Awaited<ReturnType<typeof freshDatabase>>;
  beforeAll(async () => {
    database = await freshDatabase();
  });
  afterAll(async () => {
    await database.drop();
  });

  test("Redis keeps each copy for as long as it was chosen to stay, also when it is read and trusted", async () => {
    const { url, prefix } = await sharedRedis();
    const client = new Redis(url);
    const hot = redis({ client, prefix, ttl: "15m" });
    const warm = postgres({ url: database.url, schema: "kept" });
    const saver = new TieredSaver({ hot, warm, consistency: "trusted" });
    await saver.setup();
    const stays = new Map([
      ["short", 20_000],
      ["long", 7_200_000],
    ]);
    hot.chooseTtl((threadId) => stays.get(threadId) ?? 900_000);
    const left = async (threadId: string): Promise<number> => await client.pttl(`${prefix}t:{${threadId}}`);
    for (const threadId of [...stays.keys(), "other"]) {
      await put(saver, threadId, 1, text("one"));
      await put(saver, threadId, 2, text("two"));
      await saver.tier.idle();
      const ms = stays.get(threadId) ?? 900_000;
      expect(await left(threadId)).toBeLessThanOrEqual(ms);
      expect(await left(threadId)).toBeGreaterThan(ms / 2);
      await client.pexpire(`${prefix}t:{${threadId}}`, 5_000);
      expect(await valueOf(saver, threadId)).toBe(text("two"));
      expect(await valueOf(saver, threadId, 1)).toBe(text("one"));
      await saver.tier.idle();
      expect(await left(threadId)).toBeGreaterThan(ms / 2);
    }
    await saver.end();
    client.disconnect();
  });

  test("nothing is lost, and every read is the newest, while copies go at the worst moments", async () => {
    const { url, prefix } = await sharedRedis();
    const warm = () => postgres({ url: database.url, schema: "lost" });
    const random = randomNumbers(5);
    const savers = [1, 2].map(() => {
      const hot = [boundedMemory({ forgetAfter: "20ms" }), redis({ url, prefix, ttl: "10ms" })];
      const saver = new TieredSaver({ hot, warm: warm(), adaptiveTtl: true });
      // Worse than anything that is learned: copies go between the checkpoints of a run, and while they are read.
      for (const tier of hot) tier.chooseTtl(() => 1 + Math.floor(40 * random()), 40);
      return saver;
    });
    for (const saver of savers) await saver.setup();
    const threads = Array.from({ length: 12 }, (_, n) => `t${n}`);
    const steps = 25;
    await Promise.all(
      threads.map(async (threadId, t) => {
        for (let n = 1; n <= steps; n += 1) {
          const [writer, reader] = (n + t) % 2 === 0 ? savers : savers.toReversed();
          await put(writer!, threadId, n, text(`${threadId} ${n}`));
          expect(await valueOf(reader!, threadId)).toBe(text(`${threadId} ${n}`));
          if (n % 5 === t % 5) await new Promise((resolve) => setTimeout(resolve, 4 * n));
        }
      }),
    );
    const counters = savers.flatMap((saver) => saver.tier.counters);
    // Copies did go, and did serve.
    expect(counters.some(({ misses }) => misses > 0)).toBe(true);
    expect(counters.some(({ hits }) => hits > 0)).toBe(true);
    for (const saver of savers) await saver.end();
    const plain = new TierSaver(warm());
    for (const threadId of threads) {
      expect(await stepsOf(plain, threadId)).toEqual(Array.from({ length: steps }, (_, n) => steps - n));
      for (const n of [1, 13, steps])
        expect(await valueOf(plain, threadId, n)).toBe(text(`${threadId} ${n}`));
    }
    await plain.end();
  });
});

test("a memory tier forgets each thread after its own time, and tells how long copies may stay elsewhere", async () => {
  const clock = { now: 0 };
  const tier = new BoundedMemoryTier({ forgetAfter: "10m" }, () => clock.now);
  const stack = new TierStack({ hot: tier, warm: new MemoryTier(), adaptiveTtl: true }, () => clock.now);
  expect(tier.remains[0]?.forMs).toBe(80 * 60_000);
  tier.chooseTtl((threadId) => (threadId === "short" ? 60_000 : 1_200_000), 1_200_000);
  expect(tier.remains[0]?.forMs).toBe(1_200_000);
  const at = (threadId: string) => ({ threadId, namespace: "", checkpointId: "c" });
  for (const threadId of ["short", "long"]) {
    await stack.append({
      threadId,
      records: [{ ...at(threadId), terms: [], blobs: [], body: new Uint8Array(100) }],
      blobs: [],
      heads: [{ namespace: "", to: "c", expected: "any" }],
      onConflict: "refuse",
    });
  }
  await stack.idle();
  const both = tier.size;
  clock.now += 61_000;
  expect((await tier.peek({ threadId: "short", namespace: "" })).revision).toBe(0);
  expect((await tier.peek({ threadId: "long", namespace: "" })).head).toBe("c");
  expect(tier.size).toBe(both / 2);
  // The long one goes without being asked for.
  clock.now += 1_300_000;
  await tier.peek({ threadId: "another", namespace: "" });
  expect(tier.size).toBe(0);
});

test.each([
  [{ hot: undefined }, /There is no hot tier/],
  [{ hot: new MemoryTier() }, /No copy in memory expires/],
  [{ hot: redis({ url: "redis://localhost:1" }) }, /No copy in redis expires/],
  [{ hot: redis({ url: "redis://localhost:1?ttl=15m&refreshOnRead=false" }) }, /No copy in redis expires/],
])("an adaptive ttl needs a hot tier with a ttl that use restarts: %#", (options, message) => {
  expect(() => new TierStack({ ...options, warm: new MemoryTier(), adaptiveTtl: true })).toThrow(message);
});

test("adaptiveTtl is true or false, and off by default", async () => {
  const warm = new MemoryTier();
  const wrong = { warm, hot: boundedMemory(), adaptiveTtl: "yes" } as unknown as { warm: Tier };
  expect(() => new TierStack(wrong)).toThrow(InvalidOptionError);
  const tier = boundedMemory({ forgetAfter: "10m" });
  const stack = new TierStack({ hot: tier, warm });
  expect(tier.remains[0]?.forMs).toBe(600_000);
  await stack.end();
});
