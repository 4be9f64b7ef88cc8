import { Annotation, Command, START, StateGraph, interrupt } from "@langchain/langgraph";
import type { BaseCheckpointSaver } from "@langchain/langgraph-checkpoint";
import { expect } from "vitest";
import { Calls } from "./calls.ts";
import type { GraphContext } from "./context.ts";
import { expectUnbrokenHistory, historyOf, idOf, interruptIds } from "./snapshots.ts";

const State = Annotation.Root({
  answers: Annotation<string[]>({ reducer: (a, b) => [...a, ...b], default: () => [] }),
});

const asking = (checkpointer: BaseCheckpointSaver, calls: Calls) =>
  new StateGraph(State)
    .addNode("a", () => (calls.add("a"), { answers: ["a"] }))
    .addNode("ask", () => (calls.add("ask"), { answers: [interrupt<string, string>("which?")] }))
    .addEdge(START, "a")
    .addEdge("a", "ask")
    .compile({ checkpointer });

/** A question that is asked again. Before LangGraph 1.5, the official MemorySaver gets it wrong, and can't be compared with. */
export const interruptTests = ({ test, saver, reopen, thread, durabilities }: GraphContext): void => {
  for (const durability of durabilities()) {
    test(`asking again without an answer keeps the question, durability ${durability}`, async () => {
      const calls = new Calls();
      const config = { ...thread(), durability };
      await asking(saver(), calls).invoke({}, config);
      const graph = asking(await reopen(), calls);
      const before = await graph.getState(config);
      await graph.invoke(null, config);
      const after = await graph.getState(config);
      expect(calls.take()).toEqual(["a", "ask", "ask"]);
      expect(interruptIds(after)).toEqual(interruptIds(before));
      expect(idOf(after.config)).toBe(idOf(before.config));
      expect(after.parentConfig).toEqual(before.parentConfig);
      expect(await graph.invoke(new Command({ resume: "at last" }), config)).toEqual({
        answers: ["a", "at last"],
      });
      expectUnbrokenHistory(await historyOf(graph, config));
    });
  }
};
