import { Annotation, START, StateGraph } from "@langchain/langgraph";
import type { BaseCheckpointSaver } from "@langchain/langgraph-checkpoint";
import { expect } from "vitest";
import { Calls } from "./calls.ts";
import type { GraphContext } from "./context.ts";
import { historyOf, idOf } from "./snapshots.ts";

const State = Annotation.Root({
  log: Annotation<string[]>({ reducer: (a, b) => [...a, ...b], default: () => [] }),
});

const graphOf = (checkpointer: BaseCheckpointSaver, calls: Calls, mark = "") =>
  new StateGraph(State)
    .addNode("a", () => (calls.add("a"), { log: [`a${mark}`] }))
    .addNode("b", () => (calls.add("b"), { log: [`b${mark}`] }))
    .addNode("c", () => (calls.add("c"), { log: [`c${mark}`] }))
    .addEdge(START, "a")
    .addEdge("a", "b")
    .addEdge("b", "c")
    .compile({ checkpointer });

/** updateState as "__copy__", which makes a sibling of a checkpoint without its writes. */
export const copyTests = ({ test, saver, reopen, thread }: GraphContext): void => {
  test("the copy is a sibling with the same values and nothing written", async () => {
    const calls = new Calls();
    const config = thread();
    await graphOf(saver(), calls).invoke({}, config);
    const graph = graphOf(await reopen(), calls);
    const history = await historyOf(graph, config);
    const old = history.find((s) => s.next[0] === "b");
    const copied = await graph.updateState(old?.config ?? {}, null, "__copy__");
    const reader = graphOf(await reopen(), calls);
    const copy = await reader.getState(copied);
    expect(idOf(copy.config)).not.toBe(idOf(old?.config));
    expect(idOf(copy.parentConfig)).toBe(idOf(old?.parentConfig));
    expect([copy.values, copy.next]).toEqual([{ log: ["a"] }, ["b"]]);
    expect(copy.metadata?.source).toBe("fork");
    const tuple = await (await reopen()).getTuple(copied);
    expect(tuple?.pendingWrites).toEqual([]);
    expect(idOf((await reader.getState(config)).config)).toBe(idOf(copied));
  });

  test("a run goes on from the copy, and the original stays", async () => {
    const calls = new Calls();
    const config = thread();
    await graphOf(saver(), calls).invoke({}, config);
    const graph = graphOf(await reopen(), calls, "'");
    const history = await historyOf(graph, config);
    const old = history.find((s) => s.next[0] === "b");
    const copied = await graph.updateState(old?.config ?? {}, null, "__copy__");
    calls.take();
    expect(await graph.invoke(null, copied)).toEqual({ log: ["a", "b'", "c'"] });
    expect(calls.take()).toEqual(["b", "c"]);
    const reader = graphOf(await reopen(), calls);
    expect((await reader.getState(config)).values).toEqual({ log: ["a", "b'", "c'"] });
    for (const listed of history)
      expect((await reader.getState(listed.config)).values).toEqual(listed.values);
  });

  test("the first checkpoint of a thread can be copied", async () => {
    const config = thread();
    const graph = graphOf(saver(), new Calls(), "'");
    await graphOf(saver(), new Calls()).invoke({}, config);
    const first = (await historyOf(graph, config)).at(-1);
    const copied = await graph.updateState(first?.config ?? {}, null, "__copy__");
    const copy = await graphOf(await reopen(), new Calls()).getState(copied);
    expect(copy.parentConfig).toBeUndefined();
    expect(copy.next).toEqual(["__start__"]);
    expect(await graph.invoke(null, copied)).toEqual({ log: ["a'", "b'", "c'"] });
  });

  test("a copy of the head is read back from storage", async () => {
    const config = thread();
    const graph = graphOf(saver(), new Calls());
    await graph.invoke({}, config);
    await graph.updateState(config, null, "__copy__");
    const state = await graphOf(await reopen(), new Calls()).getState(config);
    expect([state.values, state.next]).toEqual([{ log: ["a", "b", "c"] }, []]);
    expect(await graphOf(await reopen(), new Calls()).invoke({}, config)).toEqual({
      log: ["a", "b", "c", "a", "b", "c"],
    });
  });
};
