import { randomBytes } from "node:crypto";
import { expect, test } from "vitest";
import { testCache } from "../../../../tools/testing/src/store/testCache.ts";
import { tracedWhile } from "../../../../../test/tracedWhile.ts";
import { MemoryTier, TierSaver } from "../../src/index.ts";

testCache(
  "memory",
  async () => {
    const tier = new MemoryTier();
    const open = (options = {}) => new TierSaver(tier).cache(options);
    return { cache: open, other: open };
  },
  tracedWhile,
);

test("values are encrypted; those under another key, or of another place, count as missing", async () => {
  const tier = new MemoryTier();
  const hashKey = randomBytes(32);
  const cacheUnder = (activeKey: string, cached: MemoryTier = tier) =>
    new TierSaver(cached, {
      encryption: { keys: { [activeKey]: randomBytes(32) }, activeKey, hashKey },
    }).cache({ wait: "0s" });
  const [one, two] = [cacheUnder("one"), cacheUnder("two")];
  const key: [string[], string] = [["docs"], "summary"];
  await one.set([{ key, value: "secret words" }]);
  expect(await one.get([key])).toEqual([{ key, value: "secret words" }]);
  const stored = await bytesOf(tier);
  expect(Buffer.from(stored).includes("secret words")).toBe(false);
  const events = await tracedWhile(async () => expect(await two.get([key])).toEqual([]));
  expect(events).toContainEqual(
    expect.objectContaining({
      result: "unreadable",
      error: expect.objectContaining({ code: "KEY_MISSING" }),
    }),
  );

  async function bytesOf(of: MemoryTier): Promise<Uint8Array> {
    const seen: Uint8Array[] = [];
    const { read } = of.caches;
    of.caches.read = async (...args) => {
      const reads = await read.call(of.caches, ...args);
      seen.push(...reads.flatMap(({ value }) => value ?? []));
      return reads;
    };
    await one.get([key]);
    of.caches.read = read;
    return seen[0]!;
  }
});

test("a value that was stored between a look and a claim isn't computed again", async () => {
  const tier = new MemoryTier();
  const [cache, other] = [tier, tier].map((on) => new TierSaver(on).cache());
  const key: [string[], string] = [["docs"], "summary"];
  const lease = tier.lease.bind(tier);
  let isFirst = true;
  tier.lease = async (...args) => {
    if (isFirst) {
      isFirst = false;
      await other!.set([{ key: [["docs"], "summary"], value: "by another" }]);
    }
    return await lease(...args);
  };
  expect(await cache!.get([key])).toEqual([{ key, value: "by another" }]);
  await other!.clear([]);
  expect(await other!.get([[["docs"], "summary"]]), "the lease was given back").toEqual([]);
});
