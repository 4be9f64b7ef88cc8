import { MemoryTier, TierSaver, type SaverOptions, type ThreadInfo } from "@stratigraph/core";
import type { ThreadQuery } from "@stratigraph/core/tier";
import { FaultyTier } from "@stratigraph/testing";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { day, fill, later, put, stepsOf } from "./support.ts";

// What maintenance costs is counted, not timed: calls of a tier, and threads that it hands out.

/** Counts the threads that were asked for one by one. */
class CountingTier extends MemoryTier {
  handedOut = 0;

  override async *threads(query: ThreadQuery): AsyncGenerator<ThreadInfo> {
    for await (const thread of super.threads(query)) {
      this.handedOut += 1;
      yield thread;
    }
  }
}

function opened(options: SaverOptions): { inner: CountingTier; tier: FaultyTier; saver: TierSaver } {
  const inner = new CountingTier();
  const tier = new FaultyTier(inner);
  return { inner, tier, saver: new TierSaver(tier, { pause: "0ms", ...options }) };
}

/** Calls by method, of one maintenance. */
async function callsOf(tier: FaultyTier, saver: TierSaver): Promise<Record<string, number>> {
  tier.calls.length = 0;
  await saver.maintain();
  const counts: Record<string, number> = {};
  for (const { method } of tier.calls) counts[method] = (counts[method] ?? 0) + 1;
  return counts;
}

/** Beside it the tier is swept, once an hour. */
const nothingDue = { lease: 2, threads: 1 };

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["Date"] });
});
afterEach(() => {
  vi.useRealTimers();
});

describe.each([
  ["trimAfter", { trimAfter: "30d" }],
  ["keepLast", { keepLast: 3 }],
  ["both", { trimAfter: "30d", keepLast: 3 }],
] as [string, SaverOptions][])("%s", (_name, options) => {
  test("once every thread was looked at, a maintenance asks about those written since, and no others", async () => {
    const { saver, tier } = opened({ maxThreads: 50, ...options });
    for (let n = 0; n < 120; n += 1) await fill(saver, `t${n}`, 2);
    const lists: number[] = [];
    for (let run = 0; run < 4; run += 1) lists.push((await callsOf(tier, saver))["list"] ?? 0);
    expect(lists).toEqual([50, 50, 20, 0]);
    expect(await callsOf(tier, saver)).toEqual(nothingDue);
    later(day);
    expect(await callsOf(tier, saver)).toEqual({ ...nothingDue, sweep: 1 });
    await put(saver, "t7", 3);
    expect(await callsOf(tier, saver)).toEqual({ ...nothingDue, list: 1 });
    expect(await callsOf(tier, saver)).toEqual(nothingDue);
  });
});

test("what comes of age without being written to is found, and pruned", async () => {
  const { saver, tier } = opened({ trimAfter: "30d" });
  for (const threadId of ["a", "b", "c"]) {
    await fill(saver, threadId, 3);
    later(day);
  }
  expect(await callsOf(tier, saver)).toMatchObject({ list: 3 });
  later(26 * day);
  expect(await callsOf(tier, saver)).toEqual({ ...nothingDue, sweep: 1 });
  later(2 * day);
  expect((await saver.maintain()).steps).toMatchObject([{ threadId: "a", checkpoints: 2 }]);
  later(2 * day);
  expect((await saver.maintain()).steps).toMatchObject([
    { threadId: "c", checkpoints: 2 },
    { threadId: "b", checkpoints: 2 },
  ]);
  await saver.maintain();
  later(100 * day);
  expect(await callsOf(tier, saver)).toEqual({ ...nothingDue, sweep: 1 });
});

test("a thread whose checkpoints come of age one by one loses them one by one", async () => {
  const { saver } = opened({ trimAfter: "30d" });
  for (let n = 1; n <= 4; n += 1) {
    await put(saver, "t", n);
    later(day);
  }
  await put(saver, "newer", 1);
  later(26 * day);
  const left: number[] = [];
  for (let run = 0; run < 4; run += 1) {
    later(day);
    await saver.maintain();
    left.push((await stepsOf(saver, "t")).length);
  }
  expect(left).toEqual([3, 2, 1, 1]);
});

test("more threads than are looked at in a hundredth of trimAfter all have their turn", async () => {
  const { saver } = opened({ trimAfter: "100m", maxThreads: 2 });
  const threads = Array.from({ length: 12 }, (_, n) => `t${n}`);
  for (const threadId of threads) {
    await fill(saver, threadId, 3);
    later(180_000);
  }
  // At the front, and with something that comes of age every minute from now on.
  for (let n = 1; n <= 100; n += 1) {
    await put(saver, "front", n);
    later(60_000);
  }
  for (let run = 0; run < 20; run += 1) {
    later(120_000);
    await saver.maintain();
  }
  for (const threadId of threads) expect(await stepsOf(saver, threadId)).toEqual([3]);
});

test("no thread is missed by those that are written to while a pass goes on", async () => {
  const { saver, tier } = opened({ keepLast: 1, maxThreads: 3 });
  const threads = Array.from({ length: 20 }, (_, n) => `t${n}`);
  for (const threadId of threads) {
    await fill(saver, threadId, 2);
    later(300_000);
  }
  for (let n = 3; n < 9; n += 1) {
    for (const threadId of threads.slice(0, 5)) {
      await saver.maintain();
      await put(saver, threadId, n);
      later(300_000);
    }
  }
  for (let run = 0; run < 10; run += 1) await saver.maintain();
  for (const threadId of threads) expect(await stepsOf(saver, threadId)).toHaveLength(1);
  expect(await callsOf(tier, saver)).toEqual(nothingDue);
});

test("threads are asked for as far as the batch goes, never all of them", async () => {
  const { saver, inner } = opened({ keepLast: 1, deleteAfter: "90d", maxThreads: 10 });
  for (let n = 0; n < 200; n += 1) await fill(saver, `t${n}`, 1);
  await saver.maintain();
  expect(inner.handedOut).toBe(11);
  later(91 * day);
  inner.handedOut = 0;
  expect((await saver.maintain()).steps).toHaveLength(10);
  expect(inner.handedOut).toBe(10);
});

test("a thread that fails is tried again though nobody writes to it, after the others had their turn", async () => {
  const { saver, tier } = opened({ keepLast: 1 });
  for (const threadId of ["a", "b"]) {
    await fill(saver, threadId, 2);
    later(day);
  }
  const heal = tier.failWhen(({ method, args: [query] }) => {
    return method === "list" && (query as { threadId?: string }).threadId === "b";
  });
  const outcomes = async (): Promise<unknown[]> =>
    (await saver.maintain()).steps.map(({ threadId, done }) => [threadId, done]);
  expect(await outcomes()).toEqual([
    ["b", false],
    ["a", true],
  ]);
  await put(saver, "a", 3);
  expect(await outcomes()).toEqual([
    ["a", true],
    ["b", false],
  ]);
  heal();
  expect(await outcomes()).toEqual([["b", true]]);
  expect(await outcomes()).toEqual([]);
});
