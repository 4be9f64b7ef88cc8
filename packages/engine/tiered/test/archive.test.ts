// long file: one set of tiers with a clock ahead, and every way to meet a thread that was archived
import { MemoryTier, type Tier } from "@stratigraph/core";
import { FaultyTier } from "@stratigraph/testing";
import { TieredSaver, boundedMemory, type TieredSaverOptions } from "@stratigraph/tiered";
import { configOf, idOf, put, stepsOf, text, valueOf } from "./support.ts";

const day = 86_400_000;
/** Long enough for a blob of its own. */
const pending = "pending ".repeat(500);

/** Tiers that are watched, and a clock a month ahead of what they wrote. */
function opened(
  options: Partial<TieredSaverOptions> = {},
  now?: () => number,
): {
  warm: FaultyTier;
  cold: FaultyTier;
  saver: TieredSaver;
} {
  const { warm, cold } = {
    warm: new FaultyTier(new MemoryTier(), "warm"),
    cold: new FaultyTier(new MemoryTier(), "cold"),
  };
  return { warm, cold, saver: reopened({ warm, cold }, options, now) };
}

function reopened(
  { warm, cold }: { warm: Tier; cold: Tier },
  options: Partial<TieredSaverOptions> = {},
  now = (): number => Date.now() + 30 * day,
): TieredSaver {
  return new TieredSaver(
    { hot: boundedMemory(), warm, cold, archiveAfter: "7d", pause: "0ms", ...options },
    now,
  );
}

async function fill(saver: TieredSaver, threadId: string, count: number): Promise<void> {
  for (let n = 1; n <= count; n += 1) await put(saver, threadId, n, text(`${threadId} ${n}`));
  await saver.putWrites(configOf(threadId, count), [["value", pending]], "task");
}

/** Everything of a thread that a reader can see. */
async function everything(saver: TieredSaver, threadId: string): Promise<unknown[]> {
  const all: unknown[] = [];
  for await (const tuple of saver.list({ configurable: { thread_id: threadId } })) all.push(tuple);
  return all;
}

test("an idle thread is archived, and comes back as it was", async () => {
  const { saver, warm, cold } = opened();
  await fill(saver, "t", 12);
  const before = await everything(saver, "t");
  const plan = await saver.maintain({ dryRun: true });
  expect(plan.steps).toMatchObject([{ what: "archive", threadId: "t", checkpoints: 12 }]);
  expect(plan.bytes).toBeGreaterThan(500);
  expect(cold.count("append")).toBe(0);
  const report = await saver.maintain();
  expect(report).toMatchObject({ ran: true, bytes: plan.bytes, steps: [{ what: "archive", done: true }] });
  expect(await warm.blobs("t")).toEqual([]);
  expect((await saver.listThreads()).threads).toMatchObject([
    { threadId: "t", evicted: true, head: idOf(12) },
  ]);
  expect(await everything(saver, "t")).toEqual(before);
  cold.calls.length = 0;
  const reader = reopened({ warm, cold });
  expect((await reader.getTuple(configOf("t")))?.pendingWrites).toEqual([["task", "value", pending]]);
  expect(cold.calls.map(({ method }) => method)).toEqual(["read"]);
  expect(await valueOf(reader, "t", 3)).toBe(text("t 3"));
  expect(await everything(reader, "t")).toEqual(before);
  cold.calls.length = 0;
  expect(await valueOf(reopened({ warm, cold }), "t")).toBe(text("t 12"));
  expect(cold.calls).toEqual([]);
});

describe.each(["read", "write"] as const)("restoreOn %s", (restoreOn) => {
  test("an archived thread goes on, is archived again, and has every checkpoint once", async () => {
    const { saver, warm, cold } = opened({ restoreOn });
    await fill(saver, "t", 5);
    for (let round = 0; round < 4; round += 1) {
      expect(await saver.maintain()).toMatchObject({ steps: [{ what: "archive", done: true }] });
      const next = reopened({ warm, cold }, { restoreOn });
      expect(await valueOf(next, "t")).toBe(text(round === 0 ? "t 5" : `round ${round - 1}`));
      await put(next, "t", 6 + round, text(`round ${round}`));
      expect(await valueOf(next, "t")).toBe(text(`round ${round}`));
      expect(await stepsOf(next, "t")).toEqual(Array.from({ length: 6 + round }, (_, i) => 6 + round - i));
      const writes = (await next.getTuple(configOf("t", 5)))?.pendingWrites;
      expect(writes).toEqual([["task", "value", pending]]);
    }
    const batches: string[] = [];
    for await (const { writes } of cold.list({ threadId: "t", checkpointId: idOf(5) }))
      batches.push(...writes.map(({ taskId }) => taskId));
    expect(batches).toEqual(["task"]);
  });

  test("a put on an archived thread is checked against the archived head", async () => {
    const { saver, warm, cold } = opened({ restoreOn });
    await fill(saver, "t", 3);
    const late = reopened({ warm, cold }, { restoreOn, conflict: "throw" });
    await valueOf(late, "t");
    await put(saver, "t", 4, text("four"));
    await saver.maintain();
    await expect(put(late, "t", 5, text("five"), 3)).rejects.toMatchObject({ code: "CHECKPOINT_CONFLICT" });
    expect(await valueOf(reopened({ warm, cold }, { restoreOn }), "t")).toBe(text("four"));
  });

  test("a run continues if its thread is archived meanwhile", async () => {
    const { saver, warm, cold } = opened({ restoreOn });
    await fill(saver, "t", 3);
    const other = reopened({ warm, cold }, { restoreOn });
    await other.maintain();
    await put(saver, "t", 4, text("four"));
    expect(await valueOf(saver, "t")).toBe(text("four"));
    expect(await stepsOf(other, "t")).toEqual([4, 3, 2, 1]);
  });
});

test("restoreOn never: archived threads can be read, but not continued", async () => {
  const { saver, warm, cold } = opened({ restoreOn: "never" });
  await fill(saver, "t", 3);
  await saver.maintain();
  const reader = reopened({ warm, cold }, { restoreOn: "never" });
  expect(await valueOf(reader, "t")).toBe(text("t 3"));
  expect(await warm.blobs("t")).toEqual([]);
  const { configurable } = configOf("t", 3);
  const again = (await reader.getTuple({ configurable }))!.checkpoint;
  await expect(
    reader.put({ configurable }, { ...again, id: idOf(4) }, { source: "loop", step: 4, parents: {} }, {}),
  ).rejects.toMatchObject({ code: "EVICTED" });
});

describe.each([
  ["archiving", {}, 0],
  ["trimming", { archiveAfter: "365d", keepLast: 2 }, 2],
] as [string, Partial<TieredSaverOptions>, number][])("dying while %s", (_name, options, left) => {
  async function diesAndGoesOn(breakIt: (warm: FaultyTier, cold: FaultyTier) => void): Promise<void> {
    const { saver, warm, cold } = opened(options);
    await fill(saver, "t", 6);
    const before = await everything(saver, "t");
    breakIt(warm, cold);
    await saver.maintain().catch(() => undefined);
    warm.reset();
    cold.reset();
    const next = reopened({ warm, cold }, options);
    expect(await everything(next, "t")).toEqual(before);
    await next.maintain();
    let inWarm = 0;
    for await (const _ of warm.list({ threadId: "t", recordsOnly: true })) inWarm += 1;
    expect(inWarm).toBe(left);
    expect(await everything(reopened({ warm, cold }, options), "t")).toEqual(before);
  }

  test("at any of its calls: nothing is lost or doubled, and the next one finishes", async () => {
    let calls = 0;
    let step = 0;
    for (let hit = true; hit; step += 1) {
      calls = 0;
      await diesAndGoesOn((warm, cold) => {
        // From one call on, all fail: the process is gone. The lease of a dead one would run out by itself.
        for (const tier of [warm, cold]) tier.failWhen(({ method }) => method !== "lease" && calls++ >= step);
      });
      hit = calls > step;
    }
    expect(step).toBeGreaterThan(8);
  });

  test.each(["append", "evict", "remove"] as const)(
    "after %s, before its acknowledgement",
    async (method) => {
      await diesAndGoesOn((warm, cold) => {
        for (const tier of [warm, cold]) tier.dropAcknowledgement(method);
      });
    },
  );
});

test("a thread written to between copy and eviction stays", async () => {
  const { saver, warm } = opened();
  await fill(saver, "t", 3);
  const hold = warm.hold("evict");
  const maintaining = saver.maintain();
  await hold.reached;
  await put(saver, "t", 4, text("four"));
  hold.release();
  expect(await maintaining).toMatchObject({ steps: [{ what: "archive", done: false }] });
  expect(await valueOf(saver, "t", 2)).toBe(text("t 2"));
  expect(await stepsOf(saver, "t")).toEqual([4, 3, 2, 1]);
});

test("a damaged copy is found by reading it back, and the thread stays", async () => {
  const { warm } = opened();
  class Damaging extends MemoryTier {
    override async append(request: Parameters<MemoryTier["append"]>[0]): ReturnType<MemoryTier["append"]> {
      const blobs = request.blobs.map((blob, i) =>
        i === 1
          ? { ...blob, bytes: blob.bytes.map((byte, at) => (at === blob.bytes.length - 1 ? byte ^ 1 : byte)) }
          : blob,
      );
      return await super.append({ ...request, blobs });
    }
  }
  const saver = reopened({ warm, cold: new Damaging() });
  await fill(saver, "t", 3);
  const report = await saver.maintain();
  expect(report.steps).toMatchObject([{ what: "archive", done: false, error: expect.any(Error) }]);
  expect(await valueOf(saver, "t", 1)).toBe(text("t 1"));
});

test("keepLast moves older checkpoints of a thread in use, and history shows all of it", async () => {
  const { saver, warm, cold } = opened({ archiveAfter: "365d", keepLast: 4 });
  await fill(saver, "t", 20);
  const before = await everything(saver, "t");
  const report = await saver.maintain();
  expect(report.steps).toMatchObject([{ what: "trim", done: true, checkpoints: 20 }]);
  const inWarm: string[] = [];
  for await (const { record } of warm.list({ threadId: "t", recordsOnly: true }))
    inWarm.push(record.checkpointId);
  expect(inWarm).toEqual([20, 19, 18, 17].map(idOf));
  expect(await everything(saver, "t")).toEqual(before);
  cold.calls.length = 0;
  expect(await valueOf(saver, "t")).toBe(text("t 20"));
  await put(saver, "t", 21, text("t 21"));
  expect(cold.calls).toEqual([]);
  expect(await valueOf(saver, "t", 2)).toBe(text("t 2"));
  expect(await stepsOf(saver, "t")).toHaveLength(21);
});

test("trimAfter keeps what is younger", async () => {
  const at = 1_700_000_000_000 + 15_500;
  const { saver, warm } = opened({ archiveAfter: "36500d", trimAfter: "5s" }, () => at + 5000);
  await fill(saver, "t", 20);
  await saver.maintain();
  let inWarm = 0;
  for await (const _ of warm.list({ threadId: "t", recordsOnly: true })) inWarm += 1;
  expect(inWarm).toBe(5);
});

describe("deleting", () => {
  test("removes a thread from every tier, warm, restored or archived", async () => {
    const { saver, warm, cold } = opened();
    for (const thread of ["warm", "archived", "restored"]) await fill(saver, thread, 3);
    await saver.maintain();
    await fill(saver, "warm", 4);
    await valueOf(saver, "restored");
    for (const thread of ["warm", "archived", "restored"]) {
      await saver.deleteThread(thread);
      expect([await warm.blobs(thread), await cold.blobs(thread)]).toEqual([[], []]);
      expect(await valueOf(saver, thread)).toBeUndefined();
      expect(await stepsOf(saver, thread)).toEqual([]);
    }
  });

  test("works with the archive down; the next maintenance finishes it, in any process", async () => {
    const { saver, warm, cold } = opened();
    await fill(saver, "t", 3);
    await fill(saver, "other", 3);
    await saver.maintain();
    cold.failWhen(() => new Error("S3 is down"));
    await saver.deleteThread("t");
    cold.reset();
    const next = reopened({ warm, cold });
    expect(await valueOf(next, "t")).toBeUndefined();
    expect(await stepsOf(next, "t")).toEqual([]);
    const report = await next.maintain();
    expect(report.steps).toMatchObject([{ what: "finish-deletion", threadId: "t", done: true }]);
    expect(await cold.blobs("t")).toEqual([]);
    expect((await next.maintain()).steps).toEqual([]);
    expect(await valueOf(next, "other")).toBe(text("other 3"));
  });

  test("is finished however long it takes: neither a plan nor a failure makes maintenance forget it", async () => {
    vi.useFakeTimers({ toFake: ["Date"] });
    try {
      const { saver, warm, cold } = opened();
      for (const thread of ["first", "later"]) await fill(saver, thread, 3);
      await saver.maintain();
      for (const thread of ["first", "later"]) {
        await warm.deleteThread(thread);
        // Far more than maintenance looks back.
        vi.setSystemTime(Date.now() + 3_600_000);
      }
      const [first, later] = ["first", "later"].map((threadId) => ({ what: "finish-deletion", threadId }));
      expect((await saver.maintain({ dryRun: true })).steps).toMatchObject([first, later]);
      cold.failNext("deleteUnchanged");
      const failed = [
        { ...first, done: false },
        { ...later, done: true },
      ];
      expect((await saver.maintain()).steps).toMatchObject(failed);
      expect((await saver.maintain()).steps).toMatchObject([{ ...first, done: true }]);
      expect((await saver.maintain()).steps).toEqual([]);
      expect(await cold.blobs("first")).toEqual([]);
    } finally {
      vi.useRealTimers();
    }
  });

  test("also finishes if the process dies after the warm tier", async () => {
    const { saver, warm, cold } = opened();
    await fill(saver, "t", 3);
    await saver.maintain();
    await warm.deleteThread("t");
    expect((await reopened({ warm, cold }).maintain()).steps).toMatchObject([
      { what: "finish-deletion", done: true },
    ]);
    expect(await cold.blobs("t")).toEqual([]);
  });

  test("never deletes an archive that the warm tier knows nothing of", async () => {
    const { saver, cold } = opened();
    await fill(saver, "t", 3);
    await saver.maintain();
    const { steps } = await reopened({ warm: new MemoryTier(), cold }).maintain();
    expect(steps).toEqual([]);
    expect((await cold.blobs("t")).length).toBe(4);
  });

  test("pruning removes archived checkpoints, too", async () => {
    const { saver, warm, cold } = opened();
    await fill(saver, "t", 6);
    await saver.maintain();
    await valueOf(saver, "t");
    await put(saver, "t", 7, text("t 7"));
    await saver.prune(["t"], { strategy: "keep_latest", keepLast: 2 });
    const reader = reopened({ warm, cold });
    expect(await stepsOf(reader, "t")).toEqual([7, 6]);
    expect(await valueOf(reader, "t", 3)).toBeUndefined();
    expect(await valueOf(reader, "t")).toBe(text("t 7"));
  });

  test("deleteArchivedAfter deletes what was archived long enough ago", async () => {
    let clock = (): number => Date.now() + 10 * day;
    const { saver, warm, cold } = opened({ deleteArchivedAfter: "20d" }, () => clock());
    await fill(saver, "t", 3);
    await saver.maintain();
    expect((await saver.maintain()).steps).toEqual([]);
    clock = () => Date.now() + 30 * day;
    const { steps } = await saver.maintain();
    expect(steps).toMatchObject([{ what: "delete", threadId: "t", done: true }]);
    expect([await warm.blobs("t"), await cold.blobs("t"), await valueOf(saver, "t")]).toEqual([
      [],
      [],
      undefined,
    ]);
  });
});

describe("the archive is down", () => {
  test("threads in the warm tier don't notice; archived ones say so, and may be read later", async () => {
    const { saver, cold } = opened();
    await fill(saver, "archived", 3);
    await saver.maintain();
    await fill(saver, "warm", 3);
    cold.failWhen(() => new Error("S3 is down"));
    const count = cold.calls.length;
    expect(await valueOf(saver, "warm")).toBe(text("warm 3"));
    expect(await valueOf(saver, "warm", 2)).toBe(text("warm 2"));
    expect(await valueOf(saver, "new")).toBeUndefined();
    expect(await stepsOf(saver, "warm")).toEqual([3, 2, 1]);
    await put(saver, "warm", 4, text("warm 4"));
    expect(cold.calls).toHaveLength(count);
    for (const call of [valueOf(saver, "archived"), stepsOf(saver, "archived")])
      await expect(call).rejects.toMatchObject({ code: "ARCHIVE_UNAVAILABLE" });
    cold.reset();
    expect(await valueOf(reopened({ warm: saver.tier, cold: new MemoryTier() }), "warm")).toBe(
      text("warm 4"),
    );
  });

  test("the archiver leaves every thread where it is", async () => {
    const { saver, warm, cold } = opened();
    await fill(saver, "t", 3);
    cold.failWhen(({ method }) => method !== "threads");
    expect((await saver.maintain()).steps).toMatchObject([
      { what: "archive", done: false, error: expect.any(Error) },
      { what: "sweep", tier: "cold", done: false, error: expect.any(Error) },
    ]);
    expect((await warm.blobs("t")).length).toBe(4);
  });
});

test("one archiver at a time", async () => {
  const { warm, cold } = { warm: new MemoryTier(), cold: new FaultyTier(new MemoryTier(), "cold") };
  const [a, b] = [reopened({ warm, cold }), reopened({ warm, cold })];
  await fill(a, "t", 3);
  const hold = cold.hold("append");
  const first = a.maintain();
  await hold.reached;
  expect(await b.maintain()).toEqual({ ran: false, steps: [], bytes: 0 });
  hold.release();
  expect(await first).toMatchObject({ ran: true, steps: [{ done: true }] });
  expect((await b.maintain()).ran).toBe(true);
});

test("maintenance in the background archives, and stops when told to", async () => {
  const { saver, warm } = opened();
  for (let n = 0; n < 20; n += 1) await fill(saver, `t${n}`, 2);
  const hold = warm.hold("evict");
  const maintenance = saver.startMaintenance({ every: "1ms" });
  await hold.reached;
  const stopped = maintenance.stop();
  hold.release();
  await stopped;
  expect(warm.count("evict")).toBe(1);
});

test("a fork of an archived thread has all of it", async () => {
  const { saver } = opened();
  await fill(saver, "t", 5);
  const before = await stepsOf(saver, "t");
  await saver.maintain();
  await saver.copyThread("t", "copy");
  expect(await stepsOf(saver, "copy")).toEqual(before);
  expect(await valueOf(saver, "copy")).toBe(text("t 5"));
});

test("a fork of an archived and pruned thread may have the id of a deleted one", async () => {
  const { saver } = opened();
  await fill(saver, "t", 5);
  await saver.prune(["t"], { strategy: "keep_latest", keepLast: 2 });
  await fill(saver, "copy", 1);
  await saver.deleteThread("copy");
  await saver.maintain();
  await saver.copyThread("t", "copy");
  expect(await stepsOf(saver, "copy")).toEqual([5, 4]);
  expect(await valueOf(saver, "copy")).toBe(text("t 5"));
});

test("a thread that goes on from a restored first checkpoint still shows the archived branch", async () => {
  const { saver, warm, cold } = opened();
  await fill(saver, "t", 4);
  await saver.maintain();
  const next = reopened({ warm, cold });
  expect(await valueOf(next, "t")).toBe(text("t 4"));
  await next.maintain();
  expect(await valueOf(next, "t", 1)).toBe(text("t 1"));
  await put(next, "t", 9, text("another way"), 1);
  expect(await stepsOf(next, "t")).toEqual([9, 4, 3, 2, 1]);
  expect(await valueOf(next, "t", 3)).toBe(text("t 3"));
  expect(await valueOf(next, "t")).toBe(text("another way"));
});

/** Ids and steps of everything, in order. */
async function listedAll(saver: TieredSaver, limit?: number): Promise<string[]> {
  const found: string[] = [];
  for await (const { config, metadata } of saver.list(
    { configurable: {} },
    limit === undefined ? {} : { limit },
  ))
    found.push(`${String(config.configurable!["thread_id"])} ${metadata!.step}`);
  return found;
}

test("a listing of all threads has each checkpoint once, thread by thread, wherever it is", async () => {
  const { saver, warm, cold } = opened({ archiveAfter: "20d" });
  for (const id of ["archived", "trimmed", "warm"]) await fill(saver, id, 4);
  const trimming = reopened({ warm, cold }, { archiveAfter: undefined, keepLast: 2 });
  await trimming.maintain();
  await fill(saver, "live", 3);
  await reopened({ warm, cold }, { archiveAfter: "7d" }).maintain();
  for (const id of ["trimmed", "warm"]) await put(saver, id, 5, text(`${id} 5`));
  const all = await listedAll(saver);
  const steps = (id: string): string[] => all.filter((line) => line.startsWith(`${id} `));
  expect(all).toHaveLength(4 + 5 + 5 + 3);
  for (const [id, last] of Object.entries({ archived: 4, trimmed: 5, warm: 5, live: 3 }))
    expect(steps(id)).toEqual(Array.from({ length: last }, (_, n) => `${id} ${last - n}`));
  const threads = all.map((line) => line.split(" ")[0]!);
  expect(threads.filter((id, at) => id !== threads[at - 1])).toHaveLength(4);
  for (const limit of [1, 6, 16]) expect(await listedAll(saver, limit)).toEqual(all.slice(0, limit));
});

test("a listing of all threads remembers none of the checkpoints that it has returned", async () => {
  const { saver } = opened();
  for (let thread = 0; thread < 10; thread += 1) await fill(saver, `t${thread}`, 20);
  const remembered = vi.spyOn(Set.prototype, "add");
  const listing = saver.tier.list({ recordsOnly: true });
  try {
    let told = 0;
    for await (const _ of listing) told += 1;
    expect(told).toBe(200);
    expect(remembered.mock.calls.length).toBeLessThan(20);
  } finally {
    remembered.mockRestore();
  }
});

test("a deletion that the archive didn't carry out is carried out when it is repeated", async () => {
  const { saver, cold } = opened();
  await fill(saver, "t", 3);
  await saver.maintain();
  cold.failNext("deleteUnchanged");
  await saver.deleteThread("t");
  expect(await cold.inner.blobs("t")).not.toEqual([]);
  await saver.deleteThread("t");
  expect(await cold.inner.blobs("t")).toEqual([]);
});

test("a thread that was never archived is deleted without a request to the archive; one that was, after a look at what is there", async () => {
  const { saver, cold } = opened();
  await fill(saver, "idle", 3);
  await saver.maintain();
  await fill(saver, "warm", 3);
  cold.calls.length = 0;
  cold.hold("deleteUnchanged");
  await saver.deleteThread("warm");
  expect(cold.calls).toEqual([]);
  cold.reset();
  await saver.deleteThread("idle");
  expect(cold.calls.map(({ method }) => method)).toEqual(["peek", "deleteUnchanged"]);
  expect(await cold.inner.blobs("idle")).toEqual([]);
});

/** An archive whose answer is on its way, or the question to it, while something else happens. */
class Slow extends MemoryTier {
  meanwhile: (() => Promise<unknown>) | undefined;
  asked: (() => Promise<unknown>) | undefined;

  override async read(...call: Parameters<MemoryTier["read"]>): ReturnType<MemoryTier["read"]> {
    await this.#isAsked();
    const answer = await super.read(...call);
    await this.#onTheWay();
    return answer;
  }

  override async ancestry(...call: Parameters<MemoryTier["ancestry"]>): ReturnType<MemoryTier["ancestry"]> {
    await this.#isAsked();
    const answer = await super.ancestry(...call);
    await this.#onTheWay();
    return answer;
  }

  override async *list(query: Parameters<MemoryTier["list"]>[0]): ReturnType<MemoryTier["list"]> {
    await this.#isAsked();
    const answer = [];
    for await (const listed of super.list(query)) answer.push(listed);
    await this.#onTheWay();
    yield* answer;
  }

  async #isAsked(): Promise<void> {
    const { asked } = this;
    this.asked = undefined;
    await asked?.();
  }

  async #onTheWay(): Promise<void> {
    const { meanwhile } = this;
    this.meanwhile = undefined;
    await meanwhile?.();
  }
}

const readers: [string, (saver: TieredSaver) => Promise<unknown>][] = [
  ["a checkpoint", async (saver) => (await saver.getTuple(configOf("t", 3)))?.pendingWrites],
  [
    "a history",
    async (saver) => {
      for await (const tuple of saver.list(configOf("t")))
        if (tuple.metadata?.step === 3) return tuple.pendingWrites;
    },
  ],
  [
    "what a DeltaChannel is rebuilt from",
    async (saver) =>
      (await saver.getDeltaChannelHistory({ config: configOf("t", 4), channels: ["late"] }))["late"],
  ],
];

test.each(
  readers.flatMap((reader) => (["asked", "meanwhile"] as const).map((when) => [...reader, when] as const)),
)(
  "%s has the pending writes that are archived while the archive's answer is on its way, once",
  async (_, read, when) => {
    const tiers = { warm: new MemoryTier(), cold: new Slow() };
    const saver = reopened(tiers, { restoreOn: "write" });
    await fill(saver, "t", 3);
    await put(saver, "t", 4, "short");
    await saver.maintain();
    // They came late, and are in the warm tier, without their checkpoint.
    await saver.putWrites(configOf("t", 3), [["late", "more"]], "late task");
    await put(saver, "t", 5, "brief");
    expect(
      (await tiers.warm.read({ threadId: "t", namespace: "", checkpointId: idOf(3) })).checkpoint,
    ).toBeUndefined();
    const expected = await read(reopened(tiers, { restoreOn: "write" }));
    expect(JSON.stringify(expected)).toContain("more");
    tiers.cold[when] = () => saver.maintain();
    expect(await read(reopened(tiers, { restoreOn: "write" }))).toEqual(expected);
    expect(tiers.cold[when]).toBeUndefined();
    expect(await tiers.warm.strays("t")).toEqual([]);
  },
);
