import { setImmediate as turn } from "node:timers/promises";
import { Annotation, END, START, Send, StateGraph } from "@langchain/langgraph";
import type { BaseCheckpointSaver } from "@langchain/langgraph-checkpoint";
import { expect } from "vitest";
import { Calls } from "./calls.ts";
import type { GraphContext } from "./context.ts";
import { expectOneLine, historyOf } from "./snapshots.ts";

const State = Annotation.Root({
  items: Annotation<string[]>,
  done: Annotation<string[]>({ reducer: (a, b) => [...a, ...b], default: () => [] }),
  total: Annotation<number>,
});

/** Maps each item in a task of its own, then reduces. Items in `broken` throw. */
const mapReduce = (checkpointer: BaseCheckpointSaver, calls: Calls, broken: Set<string>) =>
  new StateGraph(State)
    .addNode("split", () => ({ total: 0 }))
    .addNode("map", async ({ item }: { item: string }) => {
      calls.add(item);
      if (broken.has(item)) {
        // Let the other branches finish first, so that their results are stored when this one fails.
        await turn();
        throw new Error(`${item} is down`);
      }
      return { done: [item.toUpperCase()] };
    })
    .addNode("reduce", (state) => {
      calls.add("reduce");
      return { total: state.done.length };
    })
    .addEdge(START, "split")
    .addConditionalEdges("split", (state) => state.items.map((item) => new Send("map", { item })), ["map"])
    .addEdge("map", "reduce")
    .addEdge("reduce", END)
    .compile({ checkpointer });

/** Fan-out with Send. */
export const sendTests = ({ test, saver, reopen, thread, durabilities }: GraphContext): void => {
  for (const durability of durabilities()) {
    test(`map and reduce, durability ${durability}`, async () => {
      const calls = new Calls();
      const config = { ...thread(), durability };
      const graph = mapReduce(saver(), calls, new Set());
      const items = ["a", "b", "c", "d", "e"];
      const expected = { items, done: ["A", "B", "C", "D", "E"], total: 5 };
      expect(await graph.invoke({ items }, config)).toEqual(expected);
      const reader = mapReduce(await reopen(), calls, new Set());
      const state = await reader.getState(config);
      expect([state.values, state.next]).toEqual([expected, []]);
      const history = await historyOf(reader, config);
      expectOneLine(history);
      if (durability === "exit") return;
      expect(history.map((snapshot) => snapshot.next)).toEqual([
        [],
        ["reduce"],
        ["map", "map", "map", "map", "map"],
        ["split"],
        ["__start__"],
      ]);
      expect(history[2]?.tasks.map((task) => task.name)).toEqual(["map", "map", "map", "map", "map"]);
    });

    test(`a failed branch is retried alone, durability ${durability}`, async () => {
      const calls = new Calls();
      const broken = new Set(["c"]);
      const config = { ...thread(), durability };
      const items = ["a", "b", "c", "d"];
      const failing = mapReduce(saver(), calls, broken).invoke({ items }, config);
      await expect(failing).rejects.toThrow("c is down");
      expect(calls.take().sort()).toEqual(["a", "b", "c", "d"]);

      const graph = mapReduce(await reopen(), calls, broken);
      const failed = await graph.getState(config);
      // getState shows the state with the writes of finished tasks applied.
      expect(failed.values).toEqual({ items, done: ["A", "B", "D"], total: 0 });
      expect(failed.next).toEqual(["map"]);
      const errors = failed.tasks
        .map((task) => JSON.stringify(task.error ?? ""))
        .filter((e) => e.includes("c is down"));
      expect(errors).toHaveLength(1);

      broken.clear();
      const result = await graph.invoke(null, config);
      expect(result).toEqual({ items, done: ["A", "B", "C", "D"], total: 4 });
      expect(calls.take()).toEqual(["c", "reduce"]);
      expectOneLine(await historyOf(graph, config));
    });
  }

  test("forty branches come back in the order they were sent", async () => {
    const items = Array.from({ length: 40 }, (_, index) => `item-${index}`);
    const config = thread();
    await mapReduce(saver(), new Calls(), new Set()).invoke({ items }, config);
    const state = await mapReduce(await reopen(), new Calls(), new Set()).getState(config);
    expect(state.values).toEqual({ items, done: items.map((item) => item.toUpperCase()), total: 40 });
  });

  test("Send carries objects, arrays and nothing faithfully into a retried task", async () => {
    const calls = new Calls();
    const seen: unknown[] = [];
    const Payload = Annotation.Root({ out: Annotation<number> });
    const build = (checkpointer: BaseCheckpointSaver, ok: boolean) =>
      new StateGraph(Payload)
        .addNode("go", () => ({}))
        .addNode("work", (arg: unknown) => {
          calls.add("work");
          if (!ok) throw new Error("not yet");
          seen.push(arg);
          return { out: 1 };
        })
        .addEdge(START, "go")
        .addConditionalEdges(
          "go",
          () => [new Send("work", { deep: { list: [1, null, "ü😀"], flag: false } })],
          ["work"],
        )
        .compile({ checkpointer });
    const config = thread();
    await expect(build(saver(), false).invoke({ out: 0 }, config)).rejects.toThrow("not yet");
    expect(await build(await reopen(), true).invoke(null, config)).toEqual({ out: 1 });
    expect(seen).toEqual([{ deep: { list: [1, null, "ü😀"], flag: false } }]);
  });
};
