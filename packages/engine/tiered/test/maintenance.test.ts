import { MemoryTier, StratigraphError, type MaintenanceReport, type Tier } from "@stratigraph/core";
import { FaultyTier } from "@stratigraph/testing";
import { TieredSaver, type TieredSaverOptions } from "@stratigraph/tiered";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { configOf, idOf, put, stepsOf, text, valueOf } from "./support.ts";
import { tracedWhile } from "../../../../test/tracedWhile.ts";

// What maintenance of a stack costs, and retention where there is a cold tier. How threads move is in archive.test.ts.

const day = 86_400_000;

class Sweepable extends MemoryTier {
  swept = 0;

  override async sweep(): Promise<number> {
    this.swept += 1;
    return this.swept;
  }
}

function opened(
  options: Partial<TieredSaverOptions> = {},
  open: () => Tier = () => new MemoryTier(),
): { hot: FaultyTier; warm: FaultyTier; cold: FaultyTier; saver: TieredSaver } {
  const [hot, warm, cold] = ["hot", "warm", "cold"].map((name) => new FaultyTier(open(), name));
  const tiers = { hot: hot!, warm: warm!, cold: cold! };
  return { ...tiers, saver: new TieredSaver({ ...tiers, pause: "0ms", ...options }) };
}

async function fill(saver: TieredSaver, threadId: string, count: number): Promise<void> {
  for (let n = 1; n <= count; n += 1) await put(saver, threadId, n, text(`${threadId} ${n}`));
}

/** The steps without sweeps: a hot tier that was told of a deletion has a tombstone to sweep. */
function unswept({ steps }: MaintenanceReport): MaintenanceReport["steps"] {
  return steps.filter(({ what }) => what !== "sweep");
}

function later(ms: number): void {
  vi.setSystemTime(Date.now() + ms);
}

/** Calls that reach the warm tier in one maintenance, by method. */
async function callsOf(warm: FaultyTier, saver: TieredSaver): Promise<Record<string, number>> {
  warm.calls.length = 0;
  await saver.maintain();
  const counts: Record<string, number> = {};
  for (const { method } of warm.calls) counts[method] = (counts[method] ?? 0) + 1;
  return counts;
}

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["Date"] });
});
afterEach(() => {
  vi.useRealTimers();
});

describe("what it costs", () => {
  test("a maintenance with nothing due asks the warm tier as often with many threads as with one", async () => {
    for (const options of [
      { trimAfter: "3650d" },
      { trimAfter: "3650d", keepLast: 3 },
      { keepLast: 3 },
    ] as const) {
      const { saver, warm } = opened({ ...options, archiveAfter: "3650d", maxThreads: 1000 });
      for (let n = 0; n < 60; n += 1) await fill(saver, `t${n}`, 2);
      expect(await callsOf(warm, saver)).toMatchObject({ list: 60 });
      // One page of threads for each of archiving and trimming. A lease tells whether the archive was looked through today.
      expect(await callsOf(warm, saver)).toEqual({ lease: 3, tombstones: 1, threads: 2 });
      later(day);
      // Once an hour it is swept too, and once a day the archive is looked through.
      expect(await callsOf(warm, saver)).toEqual({ lease: 5, tombstones: 1, threads: 2, sweep: 1 });
    }
  });

  test("looking counts against the batch", async () => {
    const { saver, warm } = opened({ keepLast: 3, maxThreads: 25 });
    for (let n = 0; n < 60; n += 1) await fill(saver, `t${n}`, 2);
    const lists: unknown[] = [];
    for (let run = 0; run < 4; run += 1) lists.push((await callsOf(warm, saver))["list"]);
    expect(lists).toEqual([25, 25, 10, undefined]);
  });

  test("a thread that keeps all it has isn't copied to the archive again and again", async () => {
    const { saver, cold } = opened({ keepLast: 2 });
    await fill(saver, "t", 2);
    await saver.putWrites(configOf("t", 2), [["__interrupt__", { value: "May I?" }]], "task");
    for (const n of [0, 1]) await valueOf(saver, "t", n);
    await put(saver, "t", 3, text("another way"), 1);
    for (let run = 0; run < 2; run += 1) expect((await saver.maintain()).steps).toEqual([]);
    expect(cold.count("append")).toBe(0);
    expect(await stepsOf(saver, "t")).toEqual([3, 2, 1]);
  });

  test("a thread that changed after it was copied isn't trimmed by what was copied", async () => {
    const { saver, warm } = opened({ keepLast: 2 });
    await fill(saver, "t", 5);
    const hold = warm.hold("remove");
    const maintaining = saver.maintain();
    await hold.reached;
    await put(saver, "t", 6, text("t 6"));
    hold.release();
    expect((await maintaining).steps).toMatchObject([{ what: "trim", done: false }]);
    expect(await stepsOf(saver, "t")).toEqual([6, 5, 4, 3, 2, 1]);
    expect((await saver.maintain()).steps).toMatchObject([{ what: "trim", done: true }]);
    expect(await stepsOf(saver, "t")).toEqual([6, 5, 4, 3, 2, 1]);
  });

  test("threads that can't be archived don't keep the others from it", async () => {
    const { saver, cold } = opened({ archiveAfter: "1d", maxThreads: 1 });
    for (const threadId of ["a", "b"]) {
      await fill(saver, threadId, 1);
      later(60_000);
    }
    later(day);
    const damaged = new StratigraphError("CORRUPT", "damaged");
    cold.failWhen(({ method, args: [request] }) => {
      return method === "append" && (request as { threadId: string }).threadId === "a" ? damaged : undefined;
    });
    expect((await saver.maintain()).steps).toMatchObject([{ threadId: "a", error: damaged }]);
    expect((await saver.maintain()).steps).toMatchObject([{ threadId: "b", done: true }]);
  });
});

test("deleteArchivedAfter: an archived thread that is continued meanwhile stays", async () => {
  const { saver, warm } = opened({ archiveAfter: "7d", deleteArchivedAfter: "30d" });
  await fill(saver, "t", 3);
  later(8 * day);
  await saver.maintain();
  later(31 * day);
  const holds = (["deleteThread", "deleteUnchanged"] as const).map((method) => warm.hold(method));
  const maintaining = saver.maintain();
  await Promise.race(holds.map((hold) => hold.reached));
  expect(await valueOf(saver, "t")).toBe(text("t 3"));
  await put(saver, "t", 4, text("four"));
  for (const hold of holds) hold.release();
  expect(unswept(await maintaining)).toEqual([{ what: "delete", threadId: "t", done: false }]);
  expect(await stepsOf(saver, "t")).toEqual([4, 3, 2, 1]);
});

describe("deleteAfter with a cold tier", () => {
  const options = { archiveAfter: "7d", deleteAfter: "90d" } as const;
  const inAllTiers = async (tiers: readonly Tier[], threadId: string): Promise<number[]> =>
    await Promise.all(tiers.map(async (tier) => (await tier.blobs(threadId)).length));

  test("deletes from every tier what was neither written nor moved for so long", async () => {
    const { saver, hot, warm, cold } = opened(options);
    await fill(saver, "t", 3);
    later(8 * day);
    expect((await saver.maintain()).steps).toMatchObject([{ what: "archive", done: true }]);
    later(89 * day);
    expect(unswept(await saver.maintain())).toEqual([]);
    expect(await valueOf(saver, "t")).toBe(text("t 3"));
    // Reading brought it back into the warm tier: it is in use, and archived again later.
    later(8 * day);
    expect((await saver.maintain()).steps).toMatchObject([{ what: "archive", done: true }]);
    later(91 * day);
    expect((await saver.maintain({ dryRun: true })).steps).toEqual([
      { what: "delete", threadId: "t", done: false },
    ]);
    expect((await saver.maintain()).steps).toEqual([{ what: "delete", threadId: "t", done: true }]);
    expect(await inAllTiers([hot, warm, cold], "t")).toEqual([0, 0, 0]);
    expect([await valueOf(saver, "t"), await stepsOf(saver, "t")]).toEqual([undefined, []]);
    expect((await saver.maintain()).steps).toEqual([]);
  });

  test("an archived thread that is continued meanwhile stays", async () => {
    const { saver, warm } = opened(options);
    await fill(saver, "t", 3);
    later(8 * day);
    await saver.maintain();
    later(91 * day);
    const hold = warm.hold("deleteUnchanged");
    const maintaining = saver.maintain();
    await hold.reached;
    expect(await valueOf(saver, "t")).toBe(text("t 3"));
    await put(saver, "t", 4, text("four"));
    hold.release();
    expect(unswept(await maintaining)).toEqual([{ what: "delete", threadId: "t", done: false }]);
    expect(await stepsOf(saver, "t")).toEqual([4, 3, 2, 1]);
  });

  test("with the archive down the thread is gone, and its archive goes with the next maintenance", async () => {
    const { saver, cold } = opened(options);
    await fill(saver, "t", 3);
    later(8 * day);
    await saver.maintain();
    later(91 * day);
    const heal = cold.failWhen(({ method }) => method === "deleteUnchanged");
    expect((await saver.maintain()).steps).toMatchObject([{ what: "delete", done: true }]);
    heal();
    expect((await saver.maintain()).steps).toMatchObject([
      { what: "finish-deletion", threadId: "t", done: true },
    ]);
    expect(await cold.blobs("t")).toEqual([]);
  });
});

test("without a cold tier, threads in use are pruned, and copies in hot tiers go with it", async () => {
  const [hot, warm] = [new FaultyTier(new MemoryTier(), "hot"), new FaultyTier(new MemoryTier(), "warm")];
  const saver = new TieredSaver({ hot, warm, keepLast: 2, pause: "0ms" });
  await fill(saver, "t", 4);
  await saver.tier.idle();
  expect((await saver.maintain()).steps).toEqual([
    { what: "prune", threadId: "t", checkpoints: 2, freed: expect.any(Number), done: true },
  ]);
  expect(await stepsOf(saver, "t")).toEqual([4, 3]);
  for (const tier of [hot, warm])
    expect(
      (await tier.read({ threadId: "t", namespace: "", checkpointId: idOf(1) })).checkpoint,
    ).toBeUndefined();
  expect(await valueOf(saver, "t")).toBe(text("t 4"));
});

describe("sweeping", () => {
  test("every tier that can, once; one that can't be reached keeps none of the others from it", async () => {
    const { saver, hot, warm, cold } = opened({}, () => new Sweepable());
    warm.failNext("sweep", new StratigraphError("UNAVAILABLE", "away"));
    const events = await tracedWhile(async () => {
      expect((await saver.maintain()).steps).toMatchObject([
        { what: "sweep", tier: "warm", done: false, error: { code: "UNAVAILABLE" } },
        { what: "sweep", tier: "hot", swept: 1, done: true },
        { what: "sweep", tier: "cold", swept: 1, done: true },
      ]);
    });
    expect(events.filter(({ type }) => type === "maintenance")).toHaveLength(3);
    expect((await saver.maintain()).steps).toMatchObject([
      { what: "sweep", tier: "warm", swept: 1, done: true },
    ]);
    expect([hot, warm, cold].map((tier) => tier.count("sweep"))).toEqual([1, 2, 1]);
  });

  test("a saver without a cold tier sweeps, too", async () => {
    const warm = new Sweepable();
    expect((await new TieredSaver({ warm }).maintain()).steps).toMatchObject([{ what: "sweep", swept: 1 }]);
  });
});
