import { setImmediate as turn } from "node:timers/promises";
import { emptyCheckpoint, ERROR, uuid6, type CheckpointMetadata } from "@langchain/langgraph-checkpoint";
import { MemoryTier, TierSaver } from "@stratigraph/core";
import { RunsUnderWay } from "@stratigraph/core/internal";
import { FaultyTier } from "@stratigraph/testing";
import { describe, expect, onTestFinished, test, vi } from "vitest";

// long file: the calls of runs in one place.
// Runs that were stopped, by what the saver is called with. With real graphs, on each storage: stoppedRunTests.ts of @stratigraph/testing.

const metadata: CheckpointMetadata = { source: "loop", step: 0, parents: {} };

/** The calls of a run: LangGraph puts the run's signal into each config. */
function runOn(
  saver: TierSaver,
  threadId = "t",
  of: Partial<CheckpointMetadata> = {},
  namespace = "",
  control?: object,
) {
  const { signal, abort } = stoppable();
  const config = (id?: string) => ({
    configurable: {
      thread_id: threadId,
      checkpoint_ns: namespace,
      ...(id === undefined ? {} : { checkpoint_id: id }),
    },
    signal,
    control,
  });
  return {
    read: async () => (await saver.getTuple(config()))?.checkpoint.id,
    put: async (parent?: string): Promise<string> => {
      const checkpoint = { ...emptyCheckpoint(), id: uuid6(0) };
      await saver.put(config(parent), checkpoint, { ...metadata, ...of } as CheckpointMetadata, {});
      return checkpoint.id;
    },
    /** Fails to store a value. */
    fail: async () => await saver.putWrites(config(uuid6(0)), [["channel", () => "no value"]], "task"),
    /** Stores what LangGraph stores for a task that failed. */
    taskFails: async (id: string, more: [string, unknown][] = []) =>
      await saver.putWrites(config(id), [[ERROR, { name: "Error", message: "broken" }], ...more], "task"),
    stop: abort,
  };
}

function stoppable() {
  const controller = new AbortController();
  return { signal: controller.signal, abort: () => controller.abort() };
}

/** A saver over a door to a storage. */
function open(tier = new MemoryTier()) {
  const door = new FaultyTier(tier);
  return { door, saver: new TierSaver(door), tier };
}

const headOf = async (tier: MemoryTier) => (await tier.peek({ threadId: "t", namespace: "" })).head;

test("who waits for a stopped run for half a minute is told to come again", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  onTestFinished(() => void vi.useRealTimers());
  const { door, saver } = open();
  const hold = door.hold("append");
  const stopped = runOn(saver);
  const putting = stopped.put();
  await hold.reached;
  stopped.stop();
  const reading = runOn(saver).read();
  const refused = expect(reading).rejects.toMatchObject({
    code: "UNAVAILABLE",
    retryable: true,
    data: { threadId: "t", timeoutMs: 30_000 },
  });
  await vi.advanceTimersByTimeAsync(40_000);
  await refused;
  hold.release();
  expect(await runOn(saver).read()).toBe(await putting);
});

/** LangGraph takes a few steps from one call to the next. */
async function steps(): Promise<void> {
  for (let n = 0; n < 20; n += 1) await Promise.resolve();
}

test("all that a stopped run stores one after another is waited for", async () => {
  const { door, saver } = open();
  const hold = door.hold("append");
  const run = runOn(saver);
  const putting = run.put();
  const last = putting.then(async (first) => {
    await steps();
    return await run.put(first);
  });
  await hold.reached;
  run.stop();
  const reading = runOn(saver).read();
  hold.release();
  expect(await reading).toBe(await last);
});

test("a run that was stopped between two calls is waited for", async () => {
  const { saver } = open();
  const run = runOn(saver);
  await run.read();
  run.stop();
  const last = steps().then(() => run.put());
  expect(await runOn(saver).read()).toBe(await last);
});

const ofStopped = { run_id: "stopped" } as Partial<CheckpointMetadata>;

test.each(["deleteForRuns", "end"] as const)(
  "%s waits for a run that was stopped between two calls",
  async (method) => {
    const { door, saver, tier } = open();
    const run = runOn(saver, "t", ofStopped);
    await run.read();
    run.stop();
    const hold = door.hold("append");
    const putting = steps().then(() => run.put());
    const doing = method === "end" ? saver.end() : saver.deleteForRuns(["stopped"]);
    // It could have ended by now.
    for (let n = 0; n < 20; n += 1) await turn();
    hold.release();
    await expect(putting).resolves.toBeDefined();
    await doing;
    if (method === "deleteForRuns") expect(await headOf(tier)).toBeUndefined();
  },
);

test("a deletion of runs waits for one that begins a thread, and is stopped, while it waits for another", async () => {
  const { door, saver, tier } = open();
  const [other, run] = [runOn(saver, "other"), runOn(saver, "t", ofStopped)];
  const first = door.hold("append");
  const putting = [other.put()];
  await first.reached;
  other.stop();
  const deleting = saver.deleteForRuns(["stopped"]);
  await run.read();
  run.stop();
  const second = door.hold("append");
  putting.push(steps().then(() => run.put()));
  first.release();
  for (let n = 0; n < 20; n += 1) await turn();
  second.release();
  await Promise.all([...putting, deleting]);
  expect(await headOf(tier)).toBeUndefined();
});

test("a run that failed is waited for, and doesn't wait itself", async () => {
  const { door, saver } = open();
  const run = runOn(saver);
  await run.read();
  const hold = door.hold("append");
  const putting = run.put();
  await hold.reached;
  await expect(run.fail()).rejects.toThrow(/a function/);
  expect(await run.read()).toBeUndefined();
  const reading = runOn(saver).read();
  hold.release();
  expect(await reading).toBe(await putting);
});

const deletions = {
  deleteThread: async (saver: TierSaver) => await saver.deleteThread("t"),
  prune: async (saver: TierSaver) => await saver.prune(["t"], { strategy: "delete" }),
};

/** Reads a thread while it is deleted, or before; then stores something. @returns whether it is there */
async function storedByLate(
  deletes: (saver: TierSaver) => Promise<void>,
  order: readonly ("read" | "delete" | "stop" | "look" | "answer")[],
): Promise<boolean> {
  const { door, saver, tier } = open();
  const run = runOn(saver);
  let hold: ReturnType<FaultyTier["hold"]> | undefined;
  let reading: Promise<unknown> | undefined;
  for (const step of order) {
    if (step === "delete") await deletes(saver);
    if (step === "stop") run.stop();
    if (step === "look") void RunsUnderWay.of(door).othersEnded({}, "t");
    if (step === "read") {
      hold = door.hold("read");
      reading = run.read();
      await hold.reached;
    }
    if (step === "answer") {
      hold?.release();
      await reading;
    }
  }
  await run.put();
  return (await headOf(tier)) !== undefined;
}

const orders = [
  { order: ["read", "delete", "answer"], stays: false },
  { order: ["read", "stop", "look", "delete", "answer"], stays: false },
  { order: ["stop", "delete", "read", "answer"], stays: false },
  { order: ["read", "answer", "delete", "read", "answer"], stays: false },
  { order: ["delete", "read", "answer"], stays: true },
  { order: ["delete", "read", "answer", "stop"], stays: true },
] as const;

describe.each(["deleteThread", "prune"] as const)("%s", (method) => {
  // Pruning waits for the stopped run, which is held here until the deletion has ended.
  const possible = orders.filter(
    ({ order }) => method === "deleteThread" || !order.some((step) => step === "look"),
  );
  test.each(possible)("a run and the deletion of its thread: $order", async ({ order, stays }) => {
    expect(await storedByLate(deletions[method], order)).toBe(stays);
  });
});

test.each(["before it reads", "once it has read"])(
  "a run that was stopped %s stores nothing before the deletion of its thread is answered",
  async (when) => {
    let answer = (): void => {};
    const answered = new Promise<void>((resolve) => (answer = resolve));
    class SlowAnswer extends MemoryTier {
      override async deleteThread(threadId: string): Promise<void> {
        await super.deleteThread(threadId);
        await answered;
      }
    }
    const { saver, tier, door } = open(new SlowAnswer());
    const run = runOn(saver);
    const hold = door.hold("read");
    if (when === "before it reads") run.stop();
    const reading = when === "once it has read" ? run.read() : undefined;
    run.stop();
    const deleting = saver.deleteThread("t");
    hold.release();
    await (reading ?? run.read());
    await run.put();
    answer();
    await deleting;
    expect(await headOf(tier)).toBeUndefined();
  },
);

test("a run that was stopped stores nothing in a thread that another process has deleted before it read", async () => {
  for (const isThere of [true, false]) {
    const { saver, tier } = open();
    const other = new TierSaver(new FaultyTier(tier));
    if (isThere) await runOn(other).put();
    const run = runOn(saver);
    run.stop();
    await other.deleteThread("t");
    await run.read();
    await run.put();
    expect(await headOf(tier)).toBeUndefined();
    // Nobody deleted the thread that it begins now.
    const next = runOn(other);
    await next.read();
    const begun = await next.put();
    const late = runOn(saver);
    late.stop();
    expect(await late.read()).toBe(begun);
    const last = await late.put(begun);
    expect(await headOf(tier)).toBe(last);
  }
});

test("a run that was stopped before it read stores its input in a thread that nobody deleted", async () => {
  const { saver, tier } = open();
  const run = runOn(saver);
  run.stop();
  await run.read();
  const input = await run.put();
  expect(await headOf(tier)).toBe(input);
});

test("a thread whose runs have ended is read without waiting, and so is that of a run under way", async () => {
  const { door, saver } = open();
  const runs = RunsUnderWay.of(door);
  const run = runOn(saver);
  await run.read();
  const first = await run.put();
  expect([runs.othersEnded({}, "t"), runs.allEnded("t")]).toEqual([undefined, undefined]);
  const hold = door.hold("append");
  const putting = run.put(first);
  await hold.reached;
  expect(runs.othersEnded({}, "t")).toBeUndefined();
  hold.release();
  await putting;
});

test("what a stopped run stores after another one has read doesn't take the head from it", async () => {
  for (const isStopped of [true, false]) {
    const { saver, tier } = open();
    const [old, next] = [runOn(saver), runOn(saver)];
    await old.read();
    const first = await old.put();
    if (isStopped) old.stop();
    expect(await next.read()).toBe(first);
    const late = await old.put(first);
    const own = await next.put(first);
    // Of two runs under way the first one wins.
    expect(await headOf(tier)).toBe(isStopped ? own : late);
    expect((await saver.conflicts("t")).map(({ checkpointId }) => checkpointId)).toEqual([
      isStopped ? late : own,
    ]);
  }
});

/** Holds the next answer to a read back. */
function holdAnswer(tier: MemoryTier) {
  const read = tier.read.bind(tier);
  let [reached, release] = [(): void => {}, (): void => {}];
  const isReached = new Promise<void>((resolve) => (reached = resolve));
  const isReleased = new Promise<void>((resolve) => (release = resolve));
  tier.read = async (at) => {
    tier.read = read;
    const answer = await read(at);
    reached();
    await isReleased;
    return answer;
  };
  return { reached: isReached, release };
}

test("what a stopped run stores while another one reads doesn't take the head from it", async () => {
  const { saver, tier } = open();
  const [old, next] = [runOn(saver), runOn(saver)];
  await old.read();
  const first = await old.put();
  old.stop();
  const answer = holdAnswer(tier);
  const reading = next.read();
  await answer.reached;
  await old.put(first);
  answer.release();
  expect(await reading).toBe(first);
  const own = await next.put(first);
  expect(await headOf(tier)).toBe(own);
});

test.each([
  { story: "failed", late: true },
  { story: "has an error handler", late: false },
  { story: "failed in the subgraph only", late: false },
  { story: "shares what stands for it with one that failed before", late: false },
])("a subgraph that goes on after its run $story", async ({ story, late }) => {
  const { saver, tier } = open();
  const root = (control: object) => runOn(saver, "t", {}, "", control);
  const sub = (control: object) => runOn(saver, "t", {}, "sub:1", control);
  const shared = {};
  const [run, old, next] = [root(shared), sub(shared), sub({})];
  await run.read();
  const id = await run.put();
  await old.read();
  const first = await old.put();
  if (story === "failed in the subgraph only") await old.taskFails(first);
  else await run.taskFails(id, story === "has an error handler" ? [["__error_source_node__", "node"]] : []);
  if (story.startsWith("shares")) await root(shared).read();
  expect(await next.read()).toBe(first);
  const [last, own] = [await old.put(first), await next.put(first)];
  expect((await tier.peek({ threadId: "t", namespace: "sub:1" })).head).toBe(late ? own : last);
});

test("what a subgraph is storing while its run fails is waited for", async () => {
  const { door, saver } = open();
  const control = {};
  const [run, sub] = [runOn(saver, "t", {}, "", control), runOn(saver, "t", {}, "sub:1", control)];
  await run.read();
  const id = await run.put();
  await sub.read();
  const hold = door.hold("append");
  const putting = sub.put();
  await hold.reached;
  await run.taskFails(id);
  const reading = runOn(saver, "t", {}, "sub:1").read();
  hold.release();
  expect(await reading).toBe(await putting);
});

test("a stopped run goes on where nobody has read since", async () => {
  const { saver, tier } = open();
  const old = runOn(saver);
  await old.read();
  old.stop();
  const last = await old.put(await old.put());
  expect(await headOf(tier)).toBe(last);
});

test("savers of one tier know of each other's runs", async () => {
  const { door, saver } = open();
  const hold = door.hold("append");
  const stopped = runOn(saver);
  const putting = stopped.put();
  await hold.reached;
  stopped.stop();
  const reading = runOn(new TierSaver(door)).read();
  hold.release();
  expect(await reading).toBe(await putting);
});

test("an end waits for what a stopped run stores", async () => {
  const { door, saver, tier } = open();
  const hold = door.hold("append");
  const run = runOn(saver);
  const putting = run.put();
  await hold.reached;
  run.stop();
  const ending = saver.end();
  hold.release();
  const id = await putting;
  await ending;
  expect(door.calls.map(({ method }) => method).slice(-2)).toEqual(["append", "end"]);
  await expect(tier.peek({ threadId: "t", namespace: "" })).rejects.toThrow(/CLOSED|closed|ended/);
  expect(id).toBeDefined();
});

test.each(["copyThread", "prune", "promote", "list", "list of all", "deleteForRuns"] as const)(
  "%s waits for what a stopped run stores",
  async (method) => {
    const { door, saver, tier } = open();
    const run = runOn(saver, "t", ofStopped);
    await run.read();
    const first = await run.put();
    const hold = door.hold("append");
    const putting = run.put(first);
    await hold.reached;
    run.stop();
    const at = { configurable: { thread_id: "t", checkpoint_ns: "", checkpoint_id: first } };
    const calls = {
      copyThread: () => saver.copyThread("t", "copy"),
      prune: () => saver.prune(["t"], { strategy: "keep_latest" }),
      promote: () => saver.promote(at),
      list: async () => (await saver.list({ configurable: { thread_id: "t" } }).next()).value?.checkpoint.id,
      "list of all": async () => (await saver.list({}).next()).value?.checkpoint.id,
      deleteForRuns: () => saver.deleteForRuns(["stopped"]),
    };
    const doing = calls[method]();
    // It could have ended by now.
    for (let n = 0; n < 20; n += 1) await turn();
    hold.release();
    const last = await putting;
    const done = await doing;
    const ids = async (threadId: string) => {
      const found: string[] = [];
      for await (const { record } of tier.list({ threadId })) found.push(record.checkpointId);
      return found;
    };
    if (method === "copyThread") expect(await ids("copy")).toEqual([last, first]);
    if (method === "prune") expect(await ids("t")).toEqual([last]);
    if (method === "promote") expect(await headOf(tier)).toBe(first);
    if (method === "list" || method === "list of all") expect(done).toBe(last);
    if (method === "deleteForRuns") expect(await ids("t")).toEqual([]);
  },
);
