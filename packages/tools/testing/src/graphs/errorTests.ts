import { setImmediate as turn } from "node:timers/promises";
import { Annotation, START, StateGraph } from "@langchain/langgraph";
import type { BaseCheckpointSaver } from "@langchain/langgraph-checkpoint";
import { expect } from "vitest";
import { Calls } from "./calls.ts";
import type { GraphContext } from "./context.ts";
import { expectOneLine, historyOf, idOf } from "./snapshots.ts";

const State = Annotation.Root({
  log: Annotation<string[]>({ reducer: (a, b) => [...a, ...b], default: () => [] }),
});

/** Fails `fails.left` times more in its second node. */
const flaky = (checkpointer: BaseCheckpointSaver, calls: Calls, fails: { left: number }, maxAttempts = 1) =>
  new StateGraph(State)
    .addNode("a", () => (calls.add("a"), { log: ["a"] }))
    .addNode(
      "b",
      () => {
        calls.add("b");
        if (fails.left-- > 0) throw new TypeError("b is broken");
        return { log: ["b"] };
      },
      {
        retryPolicy: {
          maxAttempts,
          initialInterval: 1,
          jitter: false,
          logWarning: false,
          retryOn: () => true,
        },
      },
    )
    .addNode("c", () => (calls.add("c"), { log: ["c"] }))
    .addEdge(START, "a")
    .addEdge("a", "b")
    .addEdge("b", "c")
    .compile({ checkpointer });

/** One of two parallel nodes fails after the other has finished. */
const parallel = (checkpointer: BaseCheckpointSaver, calls: Calls, fails: { left: number }) =>
  new StateGraph(State)
    .addNode("good", () => (calls.add("good"), { log: ["good"] }))
    .addNode("bad", async () => {
      calls.add("bad");
      await turn();
      if (fails.left-- > 0) throw new Error("bad is broken");
      return { log: ["bad"] };
    })
    .addNode("join", () => (calls.add("join"), { log: ["join"] }))
    .addEdge(START, "good")
    .addEdge(START, "bad")
    .addEdge(["good", "bad"], "join")
    .compile({ checkpointer });

/** Nodes that throw, and runs that continue after that. */
export const errorTests = ({ test, saver, reopen, thread, durabilities }: GraphContext): void => {
  for (const durability of durabilities()) {
    test(`a run continues from the node that threw, durability ${durability}`, async () => {
      const calls = new Calls();
      const fails = { left: 1 };
      const config = { ...thread(), durability };
      await expect(flaky(saver(), calls, fails).invoke({}, config)).rejects.toThrow("b is broken");
      const graph = flaky(await reopen(), calls, fails);
      const failed = await graph.getState(config);
      expect([failed.values, failed.next]).toEqual([{ log: ["a"] }, ["b"]]);
      expect(failed.tasks.map((task) => task.name)).toEqual(["b"]);
      expect(JSON.stringify(failed.tasks[0]?.error)).toContain("b is broken");
      expect(await graph.invoke(null, config)).toEqual({ log: ["a", "b", "c"] });
      expect(calls.take()).toEqual(["a", "b", "b", "c"]);
      const done = await flaky(await reopen(), calls, fails).getState(config);
      expect([done.values, done.next, done.tasks]).toEqual([{ log: ["a", "b", "c"] }, [], []]);
      expectOneLine(await historyOf(graph, config));
    });

    test(`a parallel task that finished does not run again, durability ${durability}`, async () => {
      const calls = new Calls();
      const fails = { left: 2 };
      const config = { ...thread(), durability };
      await expect(parallel(saver(), calls, fails).invoke({}, config)).rejects.toThrow("bad is broken");
      await expect(parallel(await reopen(), calls, fails).invoke(null, config)).rejects.toThrow(
        "bad is broken",
      );
      const graph = parallel(await reopen(), calls, fails);
      const state = await graph.getState(config);
      expect(state.tasks.filter((task) => task.error !== undefined).map((task) => task.name)).toEqual([
        "bad",
      ]);
      const result = await graph.invoke(null, config);
      expect(result.log.toSorted()).toEqual(["bad", "good", "join"]);
      expect(calls.count("good")).toBe(1);
      expect([calls.count("bad"), calls.count("join")]).toEqual([3, 1]);
      expect((await parallel(await reopen(), calls, fails).getState(config)).values).toEqual(result);
    });
  }

  test("a retry policy retries inside the step and leaves no trace", async () => {
    const calls = new Calls();
    const config = thread();
    expect(await flaky(saver(), calls, { left: 2 }, 3).invoke({}, config)).toEqual({ log: ["a", "b", "c"] });
    expect(calls.take()).toEqual(["a", "b", "b", "b", "c"]);
    const graph = flaky(await reopen(), calls, { left: 0 });
    const history = await historyOf(graph, config);
    expectOneLine(history);
    expect(history.map((s) => s.values.log)).toEqual([["a", "b", "c"], ["a", "b"], ["a"], [], []]);
    expect(history.flatMap((s) => s.tasks).filter((task) => task.error !== undefined)).toEqual([]);
  });

  test("a new input after a failure starts over", async () => {
    const calls = new Calls();
    const config = thread();
    await expect(flaky(saver(), calls, { left: 1 }).invoke({}, config)).rejects.toThrow("b is broken");
    const graph = flaky(await reopen(), calls, { left: 0 });
    const failed = await graph.getState(config);
    expect(await graph.invoke({ log: ["again"] }, config)).toEqual({ log: ["a", "again", "a", "b", "c"] });
    const history = await historyOf(graph, config);
    const ids = expectOneLine(history);
    expect(ids).toContain(idOf(failed.config));
  });

  test("the state can be repaired by updateState before the run continues", async () => {
    const calls = new Calls();
    const config = thread();
    await expect(flaky(saver(), calls, { left: 9 }).invoke({}, config)).rejects.toThrow("b is broken");
    await flaky(await reopen(), calls, { left: 9 }).updateState(config, { log: ["mended"] }, "b");
    const graph = flaky(await reopen(), calls, { left: 9 });
    expect((await graph.getState(config)).next).toEqual(["c"]);
    expect(await graph.invoke(null, config)).toEqual({ log: ["a", "mended", "c"] });
  });
};
