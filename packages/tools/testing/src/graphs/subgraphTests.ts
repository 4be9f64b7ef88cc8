import { Annotation, Command, START, StateGraph, interrupt } from "@langchain/langgraph";
import type { StateSnapshot } from "@langchain/langgraph";
import type { BaseCheckpointSaver } from "@langchain/langgraph-checkpoint";
import { expect } from "vitest";
import { Calls } from "./calls.ts";
import type { GraphContext } from "./context.ts";
import { expectOneLine, historyOf, interruptValues } from "./snapshots.ts";

const State = Annotation.Root({
  log: Annotation<string[]>({ reducer: (a, b) => [...a, ...b], default: () => [] }),
});

const Inner = Annotation.Root({
  log: Annotation<string[]>({ reducer: (a, b) => [...a, ...b], default: () => [] }),
  visits: Annotation<number>({ reducer: (a, b) => a + b, default: () => 0 }),
});

/** parent -> child -> grandchild. The grandchild interrupts. */
const nested = (checkpointer: BaseCheckpointSaver, calls: Calls) => {
  const grandchild = new StateGraph(State)
    .addNode("prepare", () => (calls.add("prepare"), { log: ["prepared"] }))
    .addNode("ask", () => {
      calls.add("ask");
      const answer: string = interrupt("deep?");
      return { log: [`deep=${answer}`] };
    })
    .addEdge(START, "prepare")
    .addEdge("prepare", "ask")
    .compile();
  const child = new StateGraph(State)
    .addNode("enter", () => (calls.add("enter"), { log: ["entered"] }))
    .addNode("grandchild", async (_, config) => {
      const { log } = await grandchild.invoke({ log: [] }, config);
      return { log };
    })
    .addEdge(START, "enter")
    .addEdge("enter", "grandchild")
    .compile();
  return new StateGraph(State)
    .addNode("start", () => (calls.add("start"), { log: ["started"] }))
    .addNode("child", async (_, config) => {
      const { log } = await child.invoke({ log: [] }, config);
      return { log };
    })
    .addNode("finish", () => (calls.add("finish"), { log: ["finished"] }))
    .addEdge(START, "start")
    .addEdge("start", "child")
    .addEdge("child", "finish")
    .compile({ checkpointer });
};

/** A subgraph added as a node. If `persistent`, it keeps its own channel between runs. */
const counted = (checkpointer: BaseCheckpointSaver, persistent: boolean) => {
  const inner = new StateGraph(Inner)
    .addNode("count", (state) => ({ visits: 1, log: [`visit ${state.visits + 1}`] }))
    .addEdge(START, "count")
    .compile(persistent ? { checkpointer: true } : {});
  return new StateGraph(State)
    .addNode("inner", async (_, config) => {
      const { log } = await inner.invoke({}, config);
      return { log: log.slice(-1) };
    })
    .addEdge(START, "inner")
    .compile({ checkpointer });
};

/** A subgraph added as a node, which interrupts. */
const asNode = (checkpointer: BaseCheckpointSaver, calls: Calls) => {
  const inner = new StateGraph(State)
    .addNode("one", () => (calls.add("one"), { log: ["one"] }))
    .addNode("two", () => {
      calls.add("two");
      const answer: string = interrupt("inner?");
      return { log: [`two=${answer}`] };
    })
    .addEdge(START, "one")
    .addEdge("one", "two")
    .compile();
  return new StateGraph(State).addNode("inner", inner).addEdge(START, "inner").compile({ checkpointer });
};

/** The state of a snapshot's subgraph, which `getState({ subgraphs: true })` nests in it. */
const innerState = (snapshot: StateSnapshot): StateSnapshot => {
  const state = snapshot.tasks[0]?.state;
  if (state === undefined || !("values" in state)) throw new Error("No state of a subgraph");
  return state as StateSnapshot;
};

/** Subgraphs with and without a memory of their own. */
export const subgraphTests = ({ test, saver, reopen, thread, durabilities }: GraphContext): void => {
  for (const durability of durabilities()) {
    test(`a question two graphs deep is answered in another instance, durability ${durability}`, async () => {
      const calls = new Calls();
      const config = { ...thread(), durability };
      await nested(saver(), calls).invoke({ log: [] }, config);
      expect(calls.take()).toEqual(["start", "enter", "prepare", "ask"]);
      const graph = nested(await reopen(), calls);
      const waiting = await graph.getState(config);
      expect([waiting.values, waiting.next]).toEqual([{ log: ["started"] }, ["child"]]);
      expect(interruptValues(waiting)).toEqual(["deep?"]);
      const result = await graph.invoke(new Command({ resume: "yes" }), config);
      const log = ["started", "entered", "prepared", "deep=yes", "finished"];
      expect(result).toEqual({ log });
      expect(calls.take()).toEqual(["ask", "finish"]);
      expect((await nested(await reopen(), calls).getState(config)).values).toEqual({ log });
      expectOneLine(await historyOf(graph, config));
    });
  }

  test("a persistent subgraph remembers between runs, a plain one does not", async () => {
    const [kept, plain] = [thread(), thread()];
    for (let turn = 0; turn < 3; turn++) {
      await counted(await reopen(), true).invoke({ log: [] }, kept);
      await counted(await reopen(), false).invoke({ log: [] }, plain);
    }
    expect((await counted(saver(), true).getState(kept)).values).toEqual({
      log: ["visit 1", "visit 2", "visit 3"],
    });
    expect((await counted(saver(), false).getState(plain)).values).toEqual({
      log: ["visit 1", "visit 1", "visit 1"],
    });
  });

  test("a persistent subgraph is a thread's own", async () => {
    const [one, two] = [thread(), thread()];
    const graph = counted(saver(), true);
    await graph.invoke({ log: [] }, one);
    await graph.invoke({ log: [] }, one);
    await graph.invoke({ log: [] }, two);
    expect((await graph.getState(one)).values).toEqual({ log: ["visit 1", "visit 2"] });
    expect((await graph.getState(two)).values).toEqual({ log: ["visit 1"] });
  });

  test("getState shows the state inside an interrupted subgraph", async () => {
    const calls = new Calls();
    const config = thread();
    await asNode(saver(), calls).invoke({ log: ["in"] }, config);
    const graph = asNode(await reopen(), calls);
    const plain = await graph.getState(config);
    const namespace = (plain.tasks[0]?.state as { configurable?: Record<string, unknown> } | undefined)
      ?.configurable;
    expect(namespace).toEqual({ ...config.configurable, checkpoint_ns: `inner:${plain.tasks[0]?.id}` });

    const inner = innerState(await graph.getState(config, { subgraphs: true }));
    expect([inner.values, inner.next]).toEqual([{ log: ["in", "one"] }, ["two"]]);
    expect(inner.tasks.map((task) => task.name)).toEqual(["two"]);
    expect(interruptValues(inner)).toEqual(["inner?"]);
    expect(inner.config.configurable?.["checkpoint_ns"]).toBe(`inner:${plain.tasks[0]?.id}`);
    expect(inner.metadata?.parents).toEqual({ "": plain.config.configurable?.["checkpoint_id"] });

    expect(await graph.invoke(new Command({ resume: "yes" }), config)).toEqual({
      log: ["in", "in", "one", "two=yes"],
    });
    expect(calls.take()).toEqual(["one", "two", "two"]);
  });

  test("the history inside a subgraph is its own line", async () => {
    const config = thread();
    await asNode(saver(), new Calls()).invoke({ log: ["in"] }, config);
    const graph = asNode(await reopen(), new Calls());
    const inner = innerState(await graph.getState(config, { subgraphs: true }));
    const namespace: unknown = inner.config.configurable?.["checkpoint_ns"];
    const at = { configurable: { ...config.configurable, checkpoint_ns: namespace } };
    const history = await historyOf(graph, at);
    expectOneLine(history);
    expect(history.map((s) => [s.values, s.next])).toEqual([
      [{ log: ["in", "one"] }, ["two"]],
      [{ log: ["in"] }, ["one"]],
      [{ log: [] }, ["__start__"]],
    ]);
  });

  test("updateState inside an interrupted subgraph is seen when it goes on", async () => {
    const config = thread();
    await asNode(saver(), new Calls()).invoke({ log: [] }, config);
    const graph = asNode(await reopen(), new Calls());
    const inner = innerState(await graph.getState(config, { subgraphs: true }));
    await graph.updateState(inner.config, { log: ["by hand"] }, "one");
    const after = asNode(await reopen(), new Calls());
    const updated = innerState(await after.getState(config, { subgraphs: true }));
    expect(updated.values).toEqual({ log: ["one", "by hand"] });
    expect(updated.next).toEqual(["two"]);
    await after.invoke(new Command({ resume: "yes" }), config);
    const done = await after.getState(config);
    expect(done.next).toEqual([]);
    expect(done.values).toEqual({ log: ["one", "by hand", "two=yes"] });
  });
};
