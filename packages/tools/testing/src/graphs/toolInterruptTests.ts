import { Annotation, Command, END, START, Send, StateGraph, interrupt } from "@langchain/langgraph";
import type { BaseCheckpointSaver } from "@langchain/langgraph-checkpoint";
import { expect } from "vitest";
import { Calls } from "./calls.ts";
import type { GraphContext } from "./context.ts";
import { expectOneLine, historyOf, interruptIds, interruptValues } from "./snapshots.ts";

const State = Annotation.Root({
  tools: Annotation<string[]>,
  results: Annotation<string[]>({ reducer: (a, b) => [...a, ...b], default: () => [] }),
});

/** One task per tool. Those whose names start with "ask" wait for an answer. */
const toolGraph = (checkpointer: BaseCheckpointSaver, calls: Calls) =>
  new StateGraph(State)
    .addNode("plan", (state) => state)
    .addNode("tool", ({ tool }: { tool: string }) => {
      calls.add(tool);
      if (!tool.startsWith("ask")) return { results: [`${tool}=done`] };
      const answer: string = interrupt(`${tool}?`);
      return { results: [`${tool}=${answer}`] };
    })
    .addNode("report", (state) => {
      calls.add("report");
      return { tools: [`${state.results.length} results`] };
    })
    .addEdge(START, "plan")
    .addConditionalEdges("plan", (state) => state.tools.map((tool) => new Send("tool", { tool })), ["tool"])
    .addEdge("tool", "report")
    .addEdge("report", END)
    .compile({ checkpointer });

const input = { tools: ["ask-a", "free", "ask-b", "ask-c"], results: [] };
const answered = ["ask-a=A", "free=done", "ask-b=B", "ask-c=C"];

/** Several tools of one step that each wait for a person. */
export const toolInterruptTests = ({ test, saver, reopen, thread, durabilities }: GraphContext): void => {
  for (const durability of durabilities()) {
    test(`all answers at once, by interrupt id, durability ${durability}`, async () => {
      const calls = new Calls();
      const config = { ...thread(), durability };
      await toolGraph(saver(), calls).invoke(input, config);
      const graph = toolGraph(await reopen(), calls);
      const waiting = await graph.getState(config);
      expect(waiting.next).toEqual(["tool", "tool", "tool"]);
      expect(interruptValues(waiting)).toEqual(["ask-a?", "ask-b?", "ask-c?"]);
      const [a, b, c] = interruptIds(waiting);
      calls.take();

      const resume = { [String(c)]: "C", [String(a)]: "A", [String(b)]: "B" };
      const result = await graph.invoke(new Command({ resume }), config);
      expect(result).toEqual({ tools: ["4 results"], results: answered });
      expect(calls.take().sort()).toEqual(["ask-a", "ask-b", "ask-c", "report"]);
      const done = await toolGraph(await reopen(), calls).getState(config);
      expect([done.values, done.next]).toEqual([{ tools: ["4 results"], results: answered }, []]);
      expectOneLine(await historyOf(graph, config));
    });
  }

  test("answers one after another, each from a new instance", async () => {
    const calls = new Calls();
    const config = thread();
    await toolGraph(saver(), calls).invoke(input, config);
    const open = new Map([
      ["ask-b?", "B"],
      ["ask-a?", "A"],
      ["ask-c?", "C"],
    ]);
    for (const [question, answer] of open) {
      const graph = toolGraph(await reopen(), calls);
      const waiting = await graph.getState(config);
      const at = interruptValues(waiting).indexOf(question);
      const id = interruptIds(waiting)[at];
      await graph.invoke(new Command({ resume: { [String(id)]: answer } }), config);
    }
    const done = await toolGraph(await reopen(), calls).getState(config);
    expect([done.values, done.next]).toEqual([{ tools: ["4 results"], results: answered }, []]);
    expect(calls.count("free")).toBe(1);
    expect(calls.count("report")).toBe(1);
  });

  test("finished tools keep their result while others wait", async () => {
    const calls = new Calls();
    const config = thread();
    await toolGraph(saver(), calls).invoke(input, config);
    const tuple = await (await reopen()).getTuple(config);
    const written = tuple?.pendingWrites
      ?.filter(([, channel]) => channel === "results")
      .map((write) => write[2]);
    expect(written).toEqual([["free=done"]]);
    const asked = tuple?.pendingWrites?.filter(([, channel]) => channel === "__interrupt__");
    expect(asked).toHaveLength(3);
    expect(new Set(asked?.map(([task]) => task)).size).toBe(3);
  });
};
