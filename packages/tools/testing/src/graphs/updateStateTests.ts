import { Annotation, END, START, StateGraph } from "@langchain/langgraph";
import type { BaseCheckpointSaver } from "@langchain/langgraph-checkpoint";
import { expect } from "vitest";
import { Calls } from "./calls.ts";
import type { GraphContext } from "./context.ts";
import { chainOf, expectOneLine, historyOf, idOf, sourcesOf } from "./snapshots.ts";

const State = Annotation.Root({
  text: Annotation<string>,
  log: Annotation<string[]>({ reducer: (a, b) => [...a, ...b], default: () => [] }),
});

const graphOf = (checkpointer: BaseCheckpointSaver, calls: Calls, stop = true) =>
  new StateGraph(State)
    .addNode("a", (s) => (calls.add("a"), { text: `${s.text}a`, log: ["a"] }))
    .addNode("b", (s) => (calls.add("b"), { text: `${s.text}b`, log: ["b"] }))
    .addNode("c", (s) => (calls.add("c"), { text: `${s.text}c`, log: ["c"] }))
    .addEdge(START, "a")
    .addEdge("a", "b")
    .addEdge("b", "c")
    .addEdge("c", END)
    .compile({ checkpointer, ...(stop ? { interruptBefore: ["b"] } : {}) });

/** updateState in all its forms. */
export const updateStateTests = ({ test, saver, reopen, thread }: GraphContext): void => {
  test("a plain update changes the state and keeps what comes next", async () => {
    const calls = new Calls();
    const config = thread();
    await graphOf(saver(), calls).invoke({ text: "x" }, config);
    const before = await graphOf(saver(), calls).getState(config);
    const returned = await graphOf(await reopen(), calls).updateState(config, {
      text: "changed",
      log: ["by hand"],
    });
    const graph = graphOf(await reopen(), calls);
    const after = await graph.getState(config);
    expect(after.values).toEqual({ text: "changed", log: ["a", "by hand"] });
    expect(after.next).toEqual(["b"]);
    expect([idOf(after.config), idOf(after.parentConfig)]).toEqual([idOf(returned), idOf(before.config)]);
    expect(after.metadata).toMatchObject({ source: "update", step: 2 });
    expect((await graph.getState(before.config)).values).toEqual({ text: "xa", log: ["a"] });
    expect(await graph.invoke(null, config)).toEqual({ text: "changedbc", log: ["a", "by hand", "b", "c"] });
    expect(calls.take()).toEqual(["a", "b", "c"]);
    const history = await historyOf(graph, config);
    expectOneLine(history);
    expect(sourcesOf(history)).toEqual(["loop 4", "loop 3", "update 2", "loop 1", "loop 0", "input -1"]);
  });

  test("an update as a node goes on after that node", async () => {
    const calls = new Calls();
    const config = thread();
    await graphOf(saver(), calls).invoke({ text: "x" }, config);
    await graphOf(await reopen(), calls).updateState(config, { text: "skipped b" }, "b");
    const graph = graphOf(await reopen(), calls);
    expect((await graph.getState(config)).next).toEqual(["c"]);
    expect(await graph.invoke(null, config)).toEqual({ text: "skipped bc", log: ["a", "c"] });
    expect(calls.take()).toEqual(["a", "c"]);
  });

  test("an update as END finishes the run", async () => {
    const calls = new Calls();
    const config = thread();
    await graphOf(saver(), calls).invoke({ text: "x" }, config);
    await graphOf(await reopen(), calls).updateState(config, null, END);
    const graph = graphOf(await reopen(), calls);
    const done = await graph.getState(config);
    expect([done.next, done.values]).toEqual([[], { text: "xa", log: ["a"] }]);
    calls.take();
    await graph.invoke(null, config);
    expect(calls.take()).toEqual([]);
    expect(await graphOf(saver(), calls, false).invoke({ text: "y" }, config)).toEqual({
      text: "yabc",
      log: ["a", "a", "b", "c"],
    });
  });

  test("an update of an old checkpoint starts a branch", async () => {
    const calls = new Calls();
    const config = thread();
    await graphOf(saver(), calls, false).invoke({ text: "x" }, config);
    const graph = graphOf(await reopen(), calls, false);
    const end = await graph.getState(config);
    const old = (await historyOf(graph, config)).find((s) => s.next[0] === "b");
    const forked = await graph.updateState(old?.config ?? {}, { text: "other " });
    const reader = graphOf(await reopen(), calls, false);
    const fork = await reader.getState(forked);
    expect(fork.values).toEqual({ text: "other ", log: ["a"] });
    expect(fork.next).toEqual(["b"]);
    expect(idOf(fork.parentConfig)).toBe(idOf(old?.config));
    expect(idOf((await reader.getState(config)).config)).toBe(idOf(forked));
    calls.take();
    expect(await reader.invoke(null, forked)).toEqual({ text: "other bc", log: ["a", "b", "c"] });
    expect(calls.take()).toEqual(["b", "c"]);
    expect((await reader.getState(end.config)).values).toEqual({ text: "xabc", log: ["a", "b", "c"] });
    const chain = (await chainOf(reader, config)).map((s) => idOf(s.config));
    expect(chain).toContain(idOf(forked));
    expect(chain).not.toContain(idOf(end.config));
  });

  test("an update of a new thread makes its first checkpoint", async () => {
    const calls = new Calls();
    const config = thread();
    await graphOf(saver(), calls).updateState(config, { text: "seed", log: ["seed"] }, "a");
    const graph = graphOf(await reopen(), calls, false);
    const state = await graph.getState(config);
    expect([state.values, state.next]).toEqual([{ text: "seed", log: ["seed"] }, ["b"]]);
    expect(state.parentConfig).toBeUndefined();
    expect(await graph.invoke(null, config)).toEqual({ text: "seedbc", log: ["seed", "b", "c"] });
  });

  test("an empty update makes a checkpoint with the same values", async () => {
    const config = thread();
    const graph = graphOf(saver(), new Calls());
    await graph.invoke({ text: "x" }, config);
    const before = await graph.getState(config);
    await graph.updateState(config, null);
    const after = await graphOf(await reopen(), new Calls()).getState(config);
    expect(idOf(after.parentConfig)).toBe(idOf(before.config));
    expect([after.values, after.next]).toEqual([before.values, before.next]);
  });

  test("a bulk update makes one checkpoint per superstep", async () => {
    const config = thread();
    const graph = graphOf(saver(), new Calls());
    await graph.bulkUpdateState(config, [
      { updates: [{ values: { text: "start" }, asNode: "__input__" }] },
      { updates: [{ values: { text: "1", log: ["bulk a"] }, asNode: "a" }] },
      { updates: [{ values: { text: "2", log: ["bulk b"] }, asNode: "b" }] },
    ]);
    const reader = graphOf(await reopen(), new Calls());
    const history = await historyOf(reader, config);
    expectOneLine(history);
    expect(history.map((s) => [s.values, s.next])).toEqual([
      [{ text: "2", log: ["bulk a", "bulk b"] }, ["c"]],
      [{ text: "1", log: ["bulk a"] }, ["b"]],
      [{ log: [] }, ["__start__"]],
    ]);
    expect(await reader.invoke(null, config)).toEqual({ text: "2c", log: ["bulk a", "bulk b", "c"] });
  });

  test("several updates in one superstep are applied together", async () => {
    const Wide = Annotation.Root({
      log: Annotation<string[]>({ reducer: (a, b) => [...a, ...b], default: () => [] }),
    });
    const wide = (checkpointer: BaseCheckpointSaver) =>
      new StateGraph(Wide)
        .addNode("l", () => ({ log: ["l"] }))
        .addNode("r", () => ({ log: ["r"] }))
        .addNode("join", () => ({ log: ["join"] }))
        .addEdge(START, "l")
        .addEdge(START, "r")
        .addEdge(["l", "r"], "join")
        .compile({ checkpointer });
    const config = thread();
    const updates = [
      { values: { log: ["L"] }, asNode: "l" },
      { values: { log: ["R"] }, asNode: "r" },
    ];
    await wide(saver()).bulkUpdateState(config, [
      { updates: [{ values: { log: ["in"] }, asNode: "__input__" }] },
      { updates: [{ values: { log: [] }, asNode: "__start__" }] },
      { updates },
    ]);
    const graph = wide(await reopen());
    const state = await graph.getState(config);
    expect([state.values, state.next]).toEqual([{ log: ["L", "R"] }, ["join"]]);
    expect(await graph.invoke(null, config)).toEqual({ log: ["L", "R", "join"] });
  });
};
