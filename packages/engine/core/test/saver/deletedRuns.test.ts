import { setImmediate as turn } from "node:timers/promises";
import { Annotation, START, StateGraph } from "@langchain/langgraph";
import { emptyCheckpoint, uuid6 } from "@langchain/langgraph-checkpoint";
import { MemoryTier, StratigraphError, TierSaver } from "@stratigraph/core";
import { FaultyTier } from "@stratigraph/testing";
import { expect, test } from "vitest";

// Runs that are deleted while something of them is still under way.

const State = Annotation.Root({
  log: Annotation<string[]>({ reducer: (a, b) => a.concat(b), default: () => [] }),
});

/** Lets everything happen that only waits for its turn. */
async function turns(): Promise<void> {
  for (let n = 0; n < 50; n += 1) await turn();
}

async function all<T>(listed: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const one of listed) found.push(one);
  return found;
}

/** A promise, and what resolves it. */
function event() {
  let happens!: () => void;
  const happened = new Promise<void>((resolve) => (happens = resolve));
  return { happened, happens };
}

test.each(["async", "sync"] as const)(
  "a subgraph that goes on after its run failed stores nothing of a deleted run, durability %s",
  async (durability) => {
    const saver = new TierSaver(new MemoryTier());
    const [begins, goesOn, ends] = [event(), event(), event()];
    const inner = new StateGraph(State)
      .addNode("first", async () => {
        begins.happens();
        await goesOn.happened;
        return { log: ["first"] };
      })
      .addNode("second", () => ({ log: ["second"] }))
      .addEdge(START, "first")
      .addEdge("first", "second")
      .compile();
    const fails = async () => {
      await begins.happened;
      throw new Error("boom");
    };
    const calls = async ({ log }: typeof State.State) => {
      await inner.invoke({ log }).finally(ends.happens);
      return {};
    };
    const graph = new StateGraph(State)
      .addNode("fails", fails)
      .addNode("calls", calls)
      .addEdge(START, "fails")
      .addEdge(START, "calls")
      .compile({ checkpointer: saver });
    const config = { configurable: { thread_id: "t" }, durability, metadata: { run_id: "gone" } };
    await expect(graph.invoke({ log: ["a secret"] }, config)).rejects.toThrow("boom");
    await saver.deleteForRuns(["gone"]);
    goesOn.happens();
    await ends.happened;
    await turns();
    expect(await all(saver.list({ configurable: { thread_id: "t" } }))).toEqual([]);
  },
);

/** The calls of a run, as LangGraph makes them in a namespace of thread "t". */
function runOn(saver: TierSaver, runId = "gone", namespace = "", durability = "async", control?: object) {
  const { signal } = new AbortController();
  const config = (id?: string) => ({
    configurable: {
      thread_id: "t",
      checkpoint_ns: namespace,
      ...(id === undefined ? {} : { checkpoint_id: id }),
    },
    metadata: { run_id: runId },
    signal,
    durability,
    control,
  });
  return {
    read: async () => (await saver.getTuple(config()))?.checkpoint.id,
    put: async (parent?: string): Promise<string> => {
      const checkpoint = { ...emptyCheckpoint(), id: uuid6(0) };
      await saver.put(config(parent), checkpoint, { source: "loop", step: 0, parents: {} }, {});
      return checkpoint.id;
    },
    write: async (id: string) => await saver.putWrites(config(id), [["log", "a secret"]], "task"),
  };
}

/** A saver over a door to a storage, and what is stored there. */
function open() {
  const tier = new MemoryTier();
  const door = new FaultyTier(tier);
  const ids = async () => (await all(tier.list({ threadId: "t" }))).map(({ record }) => record.checkpointId);
  return { door, saver: new TierSaver(door), tier, ids };
}

test("a deleted run that goes on is told, and other runs go on", async () => {
  const { saver, tier, ids } = open();
  const [run, other] = [runOn(saver, "gone", "", "sync"), runOn(saver, "other")];
  await run.read();
  const first = await other.put();
  const second = await run.put(first);
  await other.read();
  await saver.deleteForRuns(["gone"]);
  const refused = { code: "THREAD_DELETED", data: { threadId: "t", runId: "gone" } };
  await expect(run.put(second)).rejects.toMatchObject(refused);
  await expect(run.write(first)).rejects.toMatchObject(refused);
  const last = await other.put(first);
  expect(await ids()).toEqual([last, first]);
  expect((await tier.read({ threadId: "t", namespace: "", checkpointId: first })).checkpoint?.writes).toEqual(
    [],
  );
});

test("what a run is storing while it is deleted is deleted, too", async () => {
  const { door, saver, ids } = open();
  const run = runOn(saver);
  await run.read();
  const hold = door.hold("append");
  const putting = run.put();
  await hold.reached;
  const deleting = saver.deleteForRuns(["gone"]);
  // It could have ended by now.
  await turns();
  hold.release();
  await Promise.all([putting, deleting]);
  expect(await ids()).toEqual([]);
});

test("a deletion of runs waits for no other run under way", async () => {
  const { door, saver } = open();
  const hold = door.hold("append");
  const putting = runOn(saver, "other").put();
  await hold.reached;
  await saver.deleteForRuns(["gone"]);
  hold.release();
  await putting;
});

test("a run may begin anew under the id of a deleted one, which stays deleted", async () => {
  const { saver, ids } = open();
  const old = runOn(saver);
  await old.read();
  await old.put();
  await saver.deleteForRuns(["gone"]);
  // A subgraph that begins after the deletion belongs to what goes on of the run.
  const sub = runOn(saver, "gone", "sub:1");
  await sub.read();
  await sub.put();
  expect(await ids()).toEqual([]);
  const [anew, ofAnew] = [runOn(saver), runOn(saver, "gone", "sub:2")];
  await anew.read();
  await ofAnew.read();
  const kept = [await anew.put(), await ofAnew.put()];
  for (const late of [old, sub]) {
    await late.read();
    await late.put();
  }
  expect(await ids()).toEqual(kept.toReversed());
  await saver.deleteForRuns(["gone"]);
  await anew.put();
  await ofAnew.put();
  expect(await ids()).toEqual([]);
});

test("subgraphs belong to their run, also those that store before they read, or read after it began anew", async () => {
  const { saver, ids } = open();
  const of = (control: object, namespace = "") => runOn(saver, "gone", namespace, "async", control);
  const [gone, again] = [{}, {}];
  const [old, anew] = [of(gone), of(again)];
  await old.read();
  await saver.deleteForRuns(["gone"]);
  await anew.read();
  const kept = await of(again, "sub:1").put();
  await of(gone, "sub:2").put();
  const late = of(gone, "sub:3");
  await late.read();
  await late.put();
  expect(await ids()).toEqual([kept]);
});

test("a run whose deletion failed goes on", async () => {
  const { door, saver, ids } = open();
  const run = runOn(saver);
  await run.read();
  const first = await run.put();
  door.failNext("list", new StratigraphError("UNAVAILABLE", "no answer"));
  await expect(saver.deleteForRuns(["gone"])).rejects.toThrow("no answer");
  const second = await run.put(first);
  expect(await ids()).toEqual([second, first]);
});
