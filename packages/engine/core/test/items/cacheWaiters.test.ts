// long file: what happens to those who wait, one short story after another
import { setImmediate as turn } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { CacheOptions, TierCache } from "../../src/index.ts";
import { MemoryTier, TierSaver } from "../../src/index.ts";

// Each story has two processes on one storage, and time that passes when it says so.

type Key = [string[], string];
const keyOf = (name: string): Key => [["docs"], name];
const many = 500;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance", "Date"] });
});

afterEach(() => {
  vi.useRealTimers();
});

function opened(options: CacheOptions = { wait: "10s" }) {
  const tier = new MemoryTier();
  const sent = { looks: 0, asked: 0, given: 0, back: 0, writes: 0 };
  /** At once, of requests for leases. */
  let [now, most] = [0, 0];
  const { lease } = tier;
  const { read, write } = tier.caches;
  tier.lease = async (name, holder, forMs) => {
    sent[forMs > 0 ? "asked" : "back"] += 1;
    most = Math.max(most, (now += 1));
    await turn();
    const isGiven = await lease.call(tier, name, holder, forMs);
    now -= 1;
    if (isGiven && forMs > 0) sent.given += 1;
    return isGiven;
  };
  tier.caches.read = async (...args) => {
    sent.looks += 1;
    await turn();
    return await read.apply(tier.caches, args);
  };
  tier.caches.write = async (...args) => {
    sent.writes += 1;
    return await write.apply(tier.caches, args);
  };
  return {
    ...{ tier, sent, most: () => most },
    here: new TierSaver(tier).cache(options),
    there: new TierSaver(tier).cache(options),
    forget: () => {
      Object.assign(sent, { looks: 0, asked: 0, given: 0, back: 0, writes: 0 });
      most = 0;
    },
  };
}

const pass = async (ms: number): Promise<void> => {
  await vi.advanceTimersByTimeAsync(ms);
  for (let n = 0; n < 20; n += 1) await turn();
};

/** Calls that ask, and what they have got so far. */
function asking(cache: TierCache, count: number, ...keys: Key[]) {
  const got: unknown[][] = [];
  const all = Promise.all(
    Array.from({ length: count }, async () => {
      const found = await cache.get(keys.map(([namespace, key]): Key => [[...namespace], key]));
      got.push(found.map(({ value }) => value));
    }),
  );
  return { got, all };
}

describe("waiters for a value", () => {
  const key = keyOf("summary");

  test("that their own process computes send nothing; once it is stored, one of them looks for all", async () => {
    const { here, sent, forget } = opened({ wait: "1h" });
    expect(await here.get([key])).toEqual([]);
    forget();
    const { got, all } = asking(here, many, key);
    await pass(50 * 60_000);
    expect(sent).toEqual({ looks: 0, asked: 0, given: 0, back: 0, writes: 0 });
    await here.set([{ key, value: { bytes: new Uint8Array([1, 2, 3]) } }]);
    await all;
    expect(sent).toEqual({ looks: 1, asked: 0, given: 0, back: 1, writes: 1 });
    expect(got).toHaveLength(many);
    const bytes = got.map(([value]) => (value as { bytes: Uint8Array }).bytes);
    for (const each of bytes) expect(each).toEqual(new Uint8Array([1, 2, 3]));
    bytes[0]!.fill(9);
    expect(bytes[1], "each has a value of its own").toEqual(new Uint8Array([1, 2, 3]));
  });

  test("who all ask at once look once each, and one claims it", async () => {
    const { here, sent, forget } = opened({ wait: "1h" });
    const { got, all } = asking(here, many, key);
    await pass(60_000);
    // The one that claims it looks once more.
    expect(sent).toMatchObject({ looks: many + 1, asked: 1, given: 1 });
    expect(got).toEqual([[]]);
    forget();
    await here.set([{ key, value: 1 }]);
    await all;
    expect(sent.looks).toBe(1);
    expect(got.slice(1)).toEqual(Array.from({ length: many - 1 }, () => [1]));
  });

  test("that another process computes send what one of them sends", async () => {
    const polls: (typeof counted)[] = [];
    const counted = { looks: 0, asked: 0 };
    for (const count of [1, many]) {
      const { here, there, sent, forget, most } = opened();
      await there.get([key]);
      const { got, all } = asking(here, count, key);
      await pass(0);
      forget();
      await pass(9000);
      expect(got).toEqual([]);
      expect(most()).toBe(1);
      polls.push({ looks: sent.looks, asked: sent.asked });
      forget();
      const late = asking(here, count, key);
      await there.set([{ key, value: "there" }]);
      await pass(250);
      await Promise.all([all, late.all]);
      expect(got).toEqual(Array.from({ length: count }, () => ["there"]));
      expect(late.got).toEqual(got);
      expect(sent).toMatchObject({ looks: 1, asked: 0 });
    }
    expect(polls[0]!.asked).toBeGreaterThan(3);
    expect(polls[1]).toEqual(polls[0]);
  });

  test("that computes for too long: one of them computes it, too; whoever stores first, stays", async () => {
    const { here, sent, forget } = opened();
    const slow: Key = [["docs"], "summary"];
    await here.get([slow]);
    const { got, all } = asking(here, many, key);
    await pass(9999);
    expect(got).toEqual([]);
    forget();
    await pass(2);
    expect(got, "one computes").toEqual([[]]);
    expect(sent).toMatchObject({ given: 1 });
    expect(sent.asked).toBeLessThan(3);
    await here.set([{ key: slow, value: "slow" }]);
    await all;
    expect(got.slice(1)).toEqual(Array.from({ length: many - 1 }, () => ["slow"]));
  });

  test("whose process lost it to another wait for that; who wakes up late leaves what the other stored", async () => {
    const { here, there, sent, forget } = opened();
    const [stopped, other]: Key[] = [
      [["docs"], "summary"],
      [["docs"], "summary"],
    ];
    await here.get([stopped!]);
    await pass(10_001);
    expect(await there.get([other!])).toEqual([]);
    const { got, all } = asking(here, many, key);
    await pass(5000);
    expect(got).toEqual([]);
    await there.set([{ key: other!, value: "the next holder's" }]);
    forget();
    await here.set([{ key: stopped!, value: "of an hour ago" }]);
    expect(sent.writes).toBe(0);
    await all;
    expect(got).toEqual(Array.from({ length: many }, () => ["the next holder's"]));
    expect(await there.get([key])).toEqual([{ key, value: "the next holder's" }]);
    await here.set([{ key: keyOf("summary"), value: "of one that was told nothing" }]);
    expect(sent.writes).toBe(1);
  });

  test("a process that was stopped for longer than a lease knows it though one of its clocks stood still", async () => {
    const { here, there } = opened();
    const stopped: Key = [["docs"], "summary"];
    await here.get([stopped]);
    const still = performance.now();
    await pass(10_001);
    vi.spyOn(performance, "now").mockReturnValue(still);
    const other: Key = [["docs"], "summary"];
    vi.mocked(performance.now).mockRestore();
    expect(await there.get([other])).toEqual([]);
    await there.set([{ key: other, value: "the next holder's" }]);
    vi.spyOn(performance, "now").mockReturnValue(still);
    await here.set([{ key: stopped, value: "of an hour ago" }]);
    vi.mocked(performance.now).mockRestore();
    expect(await there.get([key])).toEqual([{ key, value: "the next holder's" }]);
  });

  test("that can't be stored: one after another computes it, while the rest send nothing", async () => {
    const { here, sent, forget } = opened({ wait: "1h" });
    const first: Key = [["docs"], "summary"];
    await here.get([first]);
    const { got } = asking(here, many, key);
    await pass(1000);
    forget();
    await here.set([{ key: first, value: () => "a function" }]);
    await pass(1000);
    expect(got).toEqual([[]]);
    expect(sent).toMatchObject({ looks: 2, asked: 1, given: 1, writes: 0 });
  });

  test("of several that one call asks for, here and elsewhere: it gets all, and takes none from others", async () => {
    const { here, there, sent, forget } = opened({ wait: "1h" });
    const [a, b, c] = ["a", "b", "c"].map(keyOf);
    await here.get([a!]);
    await there.get([b!]);
    const [pairs, ones] = [asking(here, 50, a!, b!), asking(here, 50, b!)];
    const threes = asking(here, 1, c!, b!, a!);
    await pass(1000);
    forget();
    await here.set([{ key: a!, value: "a" }]);
    await pass(1000);
    expect(sent.looks).toBeLessThan(12);
    await there.set([{ key: b!, value: "b" }]);
    await pass(1000);
    await Promise.all([pairs.all, ones.all, threes.all]);
    expect(pairs.got).toEqual(Array.from({ length: 50 }, () => ["a", "b"]));
    expect(ones.got).toEqual(Array.from({ length: 50 }, () => ["b"]));
    expect(threes.got, "the third is the caller's to compute").toEqual([["b", "a"]]);
  });

  test("in two orders, and of two other processes, wait for nobody who waits for them", async () => {
    const { here, there } = opened({ wait: "1h" });
    const [a, b] = ["a", "b"].map(keyOf);
    await there.get([a!]);
    await there.get([b!]);
    const ones = [asking(here, 3, a!), asking(here, 3, b!)];
    const both = [asking(here, 3, a!, b!), asking(here, 3, b!, a!)];
    await pass(1000);
    await there.set([{ key: b!, value: "b" }]);
    await pass(1000);
    expect(ones[1]!.got).toHaveLength(3);
    await there.set([{ key: a!, value: "a" }]);
    await pass(1000);
    await Promise.all([...ones, ...both].map(({ all }) => all));
    expect(both.map(({ got }) => got[0])).toEqual([
      ["a", "b"],
      ["b", "a"],
    ]);
  });

  test("who can't have all that it asks for gives those back that it claimed", async () => {
    // Which of two is claimed first is as their ids are.
    for (const [held, other] of [["a", "b"].map(keyOf), ["b", "a"].map(keyOf)]) {
      const { here, there } = opened({ wait: "1h" });
      await there.get([held!]);
      const { got } = asking(here, 3, held!, other!);
      await pass(1000);
      const free = asking(there, 1, other!);
      await pass(1000);
      expect(free.got).toEqual([[]]);
      expect(got).toEqual([]);
    }
  });

  test("who asks for a value, and waits for another, leaves the others to the next", async () => {
    const { here, there } = opened({ wait: "1h" });
    const [a, b] = ["a", "b"].map(keyOf);
    await there.get([b!]);
    const both = asking(here, 1, a!, b!);
    await pass(1000);
    expect(await here.get([keyOf("a")])).toEqual([]);
    await pass(1000);
    const one = asking(here, 2, b!);
    await pass(1000);
    await there.set([{ key: b!, value: "b" }]);
    await pass(1000);
    expect(one.got).toEqual([["b"], ["b"]]);
    expect(both.got).toEqual([]);
    await here.set([{ key: a!, value: "a" }]);
    await pass(1000);
    expect(both.got).toEqual([["a", "b"]]);
  });

  test("whose time is over compute it themselves; the others go on waiting, and one of them asks", async () => {
    const { here, there, sent, forget, most } = opened();
    await there.get([key]);
    const early = asking(here, many, key);
    await pass(5000);
    const late = asking(here, many, key);
    // Whoever computes it there is slow, too.
    for (let n = 0; n < 2; n += 1) {
      await pass(4900);
      await there.set([{ key, value: 1, ttl: 0 }]);
      expect(await there.get([key])).toEqual([]);
    }
    forget();
    await pass(5300);
    expect(early.got).toEqual(Array.from({ length: many }, () => []));
    expect(late.got).toEqual([]);
    expect(sent.asked, "no more than before").toBeLessThan(40);
    expect(most()).toBe(1);
    await there.set([{ key, value: "there" }]);
    await pass(300);
    await late.all;
    expect(late.got).toEqual(Array.from({ length: many }, () => ["there"]));
  });

  test("while the storage is down: nobody waits for longer than for the one that computes", async () => {
    const { here, tier, sent, forget } = opened({ wait: "1h" });
    const first: Key = [["docs"], "summary"];
    await here.get([first]);
    const { got, all } = asking(here, many, key);
    await pass(1000);
    const { write, read } = tier.caches;
    tier.caches.write = async () => await Promise.reject(new Error("the server is down"));
    forget();
    await here.set([{ key: first, value: 1 }]);
    await all;
    expect(got).toEqual(Array.from({ length: many }, () => []));
    expect(sent, "nor is it asked").toEqual({ looks: 0, asked: 0, given: 0, back: 0, writes: 0 });
    Object.assign(tier.caches, { write, read });
    await pass(5001);
    await here.set([{ key: first, value: 2 }]);
    expect(await here.get([key])).toEqual([{ key, value: 2 }]);
  });

  test("who ask after it was cleared get nothing that was seen before", async () => {
    const { here, there, tier } = opened({ wait: "1h" });
    await there.get([key]);
    const before = asking(here, 2, key);
    await pass(1000);
    const { read } = tier.caches;
    let seen!: () => void;
    const looked = new Promise<void>((resolve) => (seen = resolve));
    let answer!: () => void;
    const answered = new Promise<void>((resolve) => (answer = resolve));
    tier.caches.read = async (...args) => {
      const reads = await read.apply(tier.caches, args);
      seen();
      await answered;
      return reads;
    };
    await there.set([{ key, value: "old" }]);
    await pass(250);
    await looked;
    tier.caches.read = read;
    await there.clear([]);
    const after = asking(here, 2, key);
    await pass(0);
    answer();
    await pass(1000);
    expect(before.got).toEqual([["old"], ["old"]]);
    expect(after.got, "one computes").toEqual([[]]);
  });
});
