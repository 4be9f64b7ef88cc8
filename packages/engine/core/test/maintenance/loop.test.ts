import { MemoryTier, StratigraphError, TierSaver, type SaverOptions, type Tier } from "@stratigraph/core";
import { FaultyTier } from "@stratigraph/testing";
import { afterEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { fill, later, maintenanceTraces, put } from "./support.ts";

/** A tier that has been told to be swept. */
class Sweepable extends MemoryTier {
  override readonly name: string;
  readonly asked: number[] = [];
  found = 0;

  constructor(name = "memory") {
    super();
    this.name = name;
  }

  override async sweep(olderThanMs: number): Promise<number> {
    this.asked.push(olderThanMs);
    return this.found;
  }
}

function opened(
  options: SaverOptions = {},
  inner: Tier = new MemoryTier(),
): { tier: FaultyTier; saver: TierSaver } {
  const tier = new FaultyTier(inner);
  return { tier, saver: new TierSaver(tier, { pause: "0ms", keepLast: 1, ...options }) };
}

function traces(): string[] {
  const { what, stop } = maintenanceTraces();
  onTestFinished(stop);
  return what;
}

/** Lets time pass, a second by default, as if at once. */
async function pass(ms = 1000): Promise<void> {
  await vi.advanceTimersByTimeAsync(ms);
}

function withFakeTime(): void {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
}

afterEach(() => {
  vi.useRealTimers();
});

describe("one at a time", () => {
  test.each(["with leases, two savers", "without, one saver"])("%s", async (kind) => {
    const { tier, saver } = opened();
    if (!kind.startsWith("with leases")) Object.assign(tier, { lease: undefined });
    const other = kind.startsWith("with leases") ? new TierSaver(tier, { keepLast: 1, pause: "0ms" }) : saver;
    await fill(saver, "t", 3);
    const hold = tier.hold("remove");
    const first = saver.maintain();
    await hold.reached;
    expect(await other.maintain()).toEqual({ ran: false, steps: [], bytes: 0 });
    expect((await other.maintain({ dryRun: true })).ran, "a plan disturbs nobody").toBe(true);
    hold.release();
    expect(await first).toMatchObject({ ran: true, steps: [{ done: true }] });
    expect((await other.maintain()).ran).toBe(true);
  });
});

describe("sweeping", () => {
  test("once an hour, of what is older than a day; told where it found something", async () => {
    vi.useFakeTimers({ toFake: ["Date"] });
    const tier = new Sweepable();
    const { saver } = opened({}, tier);
    const what = traces();
    expect((await saver.maintain()).steps).toEqual([]);
    tier.found = 7;
    expect((await saver.maintain()).steps).toEqual([]);
    expect((await saver.maintain({ dryRun: true })).steps).toEqual([]);
    expect(tier.asked).toEqual([86_400_000]);
    later(3_600_000);
    expect((await saver.maintain({ dryRun: true })).steps).toEqual([]);
    expect((await saver.maintain()).steps).toEqual([{ what: "sweep", tier: "memory", swept: 7, done: true }]);
    expect([tier.asked.length, what]).toEqual([2, ["sweep"]]);
  });

  test("one that fails is told, and tried again the next time", async () => {
    const { saver, tier } = opened({}, new Sweepable());
    tier.failNext("sweep", new StratigraphError("UNAVAILABLE", "away"));
    expect((await saver.maintain()).steps).toMatchObject([
      { what: "sweep", done: false, error: { code: "UNAVAILABLE" } },
    ]);
    expect((await saver.maintain()).steps).toEqual([]);
    expect(tier.count("sweep")).toBe(2);
  });
});

test("a storage that is down ends the batch; another failure doesn't", async () => {
  for (const [error, tried] of [
    [new StratigraphError("UNAVAILABLE", "away"), 1],
    [new StratigraphError("CORRUPT", "damaged"), 3],
  ] as const) {
    const { saver, tier } = opened();
    for (const threadId of ["a", "b", "c"]) await fill(saver, threadId, 2);
    tier.failWhen(({ method }) => (method === "remove" ? error : undefined));
    expect((await saver.maintain()).steps.map((step) => step.error)).toEqual(Array(tried).fill(error));
  }
});

test("a signal ends it after the thread under way", async () => {
  const { saver, tier } = opened();
  for (const threadId of ["a", "b", "c"]) await fill(saver, threadId, 2);
  const ending = new AbortController();
  const hold = tier.hold("remove");
  const maintaining = saver.maintain({ signal: ending.signal });
  await hold.reached;
  ending.abort();
  hold.release();
  expect((await maintaining).steps).toMatchObject([{ done: true }]);
  expect(tier.count("remove")).toBe(1);
});

describe("in the background", () => {
  test("stops when told, also twice, after the thread under way", async () => {
    const { saver, tier } = opened();
    for (const threadId of ["a", "b", "c"]) await fill(saver, threadId, 2);
    const hold = tier.hold("remove");
    withFakeTime();
    const maintenance = saver.startMaintenance({ every: "1ms" });
    await pass(1);
    await hold.reached;
    const stopped = [maintenance.stop(), maintenance.stop()];
    hold.release();
    await Promise.all(stopped);
    await maintenance.stop();
    const calls = tier.calls.length;
    await pass();
    expect([tier.count("remove"), tier.calls.length]).toEqual([1, calls]);
  });

  test("stops before its first time, and end() stops it", async () => {
    const { saver, tier } = opened();
    const maintenance = saver.startMaintenance({ every: "24d" });
    await maintenance.stop();
    withFakeTime();
    saver.startMaintenance({ every: "1ms" });
    await pass();
    expect(tier.count("lease")).toBeGreaterThan(4);
    await saver.end();
    const calls = tier.calls.length;
    await pass();
    expect(tier.calls.length).toBe(calls);
  });

  test("an `every` shorter than a run: the next one waits for it", async () => {
    const { saver, tier } = opened();
    await fill(saver, "t", 2);
    const hold = tier.hold("remove");
    withFakeTime();
    const maintenance = saver.startMaintenance({ every: "1ms" });
    await pass(1);
    await hold.reached;
    const calls = tier.calls.length;
    await pass();
    expect(tier.calls.length).toBe(calls);
    hold.release();
    await put(saver, "t", 3);
    await pass();
    expect(tier.count("remove")).toBe(2);
    await maintenance.stop();
  });

  test("one that fails is traced, and the next one works", async () => {
    const { saver, tier } = opened();
    await fill(saver, "t", 2);
    const what = traces();
    tier.failNext("threads");
    withFakeTime();
    const maintenance = saver.startMaintenance({ every: "1ms" });
    await pass();
    await maintenance.stop();
    expect(what).toEqual(["failed", "prune"]);
  });

  test("once the storage was closed there is no next one", async () => {
    const { saver, tier } = opened();
    const what = traces();
    tier.failWhen(({ method }) =>
      method === "lease" ? new StratigraphError("CLOSED", "closed") : undefined,
    );
    withFakeTime();
    saver.startMaintenance({ every: "1ms" });
    await pass();
    expect([what, tier.count("lease")]).toEqual([["failed"], 1]);
  });

  test("a tier that never answers holds end() up for ten seconds, no longer, and it is traced", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const { saver, tier } = opened();
    const what = traces();
    const hold = tier.hold("threads");
    saver.startMaintenance({ every: "1s" });
    await vi.advanceTimersByTimeAsync(1000);
    await hold.reached;
    let ended = false;
    const ending = saver.end().then(() => (ended = true));
    await vi.advanceTimersByTimeAsync(9999);
    expect([ended, what]).toEqual([false, []]);
    await vi.advanceTimersByTimeAsync(1);
    await ending;
    expect(what).toEqual(["left behind"]);
    hold.release();
  });
});

test("after end() it is refused, also where a tier's failure would be a step among others", async () => {
  const { saver } = opened({}, new Sweepable());
  await saver.end();
  const closed = { code: "CLOSED" };
  await expect(saver.maintain()).rejects.toMatchObject(closed);
  expect(() => saver.startMaintenance({ every: "1h" })).toThrow(expect.objectContaining(closed));
});
