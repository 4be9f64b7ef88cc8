import { AsyncLocalStorage } from "node:async_hooks";
import { Annotation, START, StateGraph } from "@langchain/langgraph";
import { emptyCheckpoint } from "@langchain/langgraph-checkpoint";
import { MemorySaver, MemoryTier, TierSaver, type TraceEvent } from "@stratigraph/core";
import { setTracer, type Begun, type Ended, type Tracer } from "@stratigraph/core/internal";
import { tracedWhile } from "../../../../../test/tracedWhile.ts";

// What a saver and its tier tell of themselves, on the channel and to a tracer.

function ofType<K extends TraceEvent["type"]>(
  events: TraceEvent[],
  type: K,
): Extract<TraceEvent, { type: K }>[] {
  return events.filter((event): event is Extract<TraceEvent, { type: K }> => event.type === type);
}

const State = Annotation.Root({ text: Annotation<string> });

function graph(checkpointer: TierSaver) {
  return new StateGraph(State)
    .addNode("write", () => ({ text: "x".repeat(1000) }))
    .addEdge(START, "write")
    .compile({ checkpointer });
}

const config = { configurable: { thread_id: "t" }, durability: "sync" as const };

afterEach(() => setTracer(undefined));

test("each operation and each call has a beginning and an end, with what it moved", async () => {
  const events = await tracedWhile(async () => {
    const saver = new MemorySaver();
    await graph(saver).invoke({ text: "" }, config);
    await saver.getTuple(config);
    await new TierSaver(saver.tier).getTuple(config);
    for await (const _ of saver.list(config)) continue;
    await saver.getTuple({ configurable: { thread_id: "none" } });
    await saver.deleteThread("t");
  });
  for (const [start, end] of [
    ["operation-start", "operation"],
    ["call-start", "call"],
  ] as const) {
    const begun = ofType(events, start).map(({ id, method }) => [id, method]);
    const ended = ofType(events, end).map(({ id, method }) => [id, method]);
    expect(begun.length).toBeGreaterThan(0);
    expect(new Set(begun.map(([id]) => id)).size).toBe(begun.length);
    expect(ended.toSorted()).toEqual(begun.toSorted());
  }
  const operations = ofType(events, "operation");
  const puts = operations.filter(({ method }) => method === "put");
  expect(puts.map(({ step }) => step)).toEqual([-1, 0, 1]);
  for (const put of puts)
    expect(put).toMatchObject({
      outcome: "ok",
      threadId: "t",
      namespace: "",
      bytes: expect.any(Number) as number,
    });
  expect(puts.at(-1)!.bytes).toBeGreaterThan(100);
  const gets = operations.filter(({ method }) => method === "getTuple");
  expect(gets.map(({ outcome, from }) => [outcome, from])).toEqual([
    ["none", "tier"],
    ["ok", "tier"],
    ["ok", "tier"],
    ["none", "tier"],
  ]);
  expect(gets.map(({ bytes }) => Math.sign(bytes!))).toEqual([0, 1, 1, 0]);
  const sent = ofType(events, "call").filter(({ method }) => method === "append");
  expect(sent.map(({ sent: bytes }) => bytes)).toEqual(puts.map(({ bytes }) => bytes));
});

test("a conflict, a side branch, a dropped write and a failure are told apart", async () => {
  const tier = new MemoryTier();
  const put = async (saver: TierSaver, parent: string | undefined, id: string, run?: object) =>
    await saver.put(
      { configurable: { thread_id: "t", checkpoint_ns: "", checkpoint_id: parent }, ...run },
      { ...emptyCheckpoint(), id },
      { source: "loop", step: 1, parents: {} },
      {},
    );
  const events = await tracedWhile(async () => {
    const [throwing, branching] = [new TierSaver(tier), new TierSaver(tier, { conflict: "branch" })];
    await put(throwing, undefined, "1");
    await put(throwing, "1", "2");
    await put(branching, "1", "3");
    await put(new TierSaver(tier, { conflict: "throw" }), "1", "4").catch(() => undefined);
    await put(throwing, "2", "").catch(() => undefined);
  });
  const outcomes = ofType(events, "operation").map(({ outcome }) => outcome);
  expect(outcomes).toEqual(["ok", "ok", "branched", "conflict", "failed"]);
});

test("a tracer's spans are active while the tier is called, and nest", async () => {
  const active = new AsyncLocalStorage<Begun>();
  const parents = new Map<Begun, Begun | undefined>();
  const ended: Ended[] = [];
  const tracer: Tracer = {
    begin: (event) => {
      parents.set(event, active.getStore());
      return { run: (work) => active.run(event, work), end: (event_) => ended.push(event_) };
    },
  };
  setTracer(tracer);
  const saver = new MemorySaver();
  await graph(saver).invoke({ text: "" }, config);
  for await (const _ of saver.list(config)) continue;
  setTracer(undefined);
  await saver.getTuple(config);
  expect(ended).toHaveLength(parents.size);
  const calls = [...parents].filter(([{ type }]) => type === "call-start");
  expect(calls.length).toBeGreaterThan(3);
  for (const [call, parent] of calls) {
    expect(parent).toMatchObject({ type: "operation-start" });
    if (call.method === "append") expect(parent!.method).toBe("put");
  }
});

test.each(["begin", "run", "end"] as const)("a tracer that throws in %s disturbs nothing", async (where) => {
  const fail = (step: string): void => {
    if (step === where) throw new Error(`${step} failed`);
  };
  setTracer({
    begin: () => {
      fail("begin");
      return {
        run: (work) => {
          fail("run");
          return work();
        },
        end: () => fail("end"),
      };
    },
  });
  const saver = new MemorySaver();
  const events = await tracedWhile(() => graph(saver).invoke({ text: "" }, config));
  const hooks = ofType(events, "hook");
  expect(hooks[0]).toMatchObject({ hook: "tracer", error: { message: `${where} failed` } });
  expect((await graph(saver).getState(config)).values).toEqual({ text: "x".repeat(1000) });
  expect(ofType(events, "operation").every(({ outcome }) => outcome === "ok" || outcome === "none")).toBe(
    true,
  );
});
