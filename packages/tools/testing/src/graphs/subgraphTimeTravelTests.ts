import { Annotation, Command, START, StateGraph, interrupt } from "@langchain/langgraph";
import type { BaseCheckpointSaver } from "@langchain/langgraph-checkpoint";
import { expect } from "vitest";
import { Calls } from "./calls.ts";
import type { GraphContext } from "./context.ts";
import { historyOf, idOf, interruptValues } from "./snapshots.ts";

const State = Annotation.Root({
  log: Annotation<string[]>({ reducer: (a, b) => [...a, ...b], default: () => [] }),
});

const Memory = Annotation.Root({
  log: Annotation<string[]>({ reducer: (a, b) => [...a, ...b], default: () => [] }),
  visits: Annotation<number>({ reducer: (a, b) => a + b, default: () => 0 }),
});

/** before -> inner (persistent, counts its visits) -> after. */
const counting = (checkpointer: BaseCheckpointSaver, calls: Calls, mark: string) => {
  const inner = new StateGraph(Memory)
    .addNode(
      "count",
      (state) => (calls.add("count"), { visits: 1, log: [`visit ${state.visits + 1}${mark}`] }),
    )
    .addEdge(START, "count")
    .compile({ checkpointer: true });
  return new StateGraph(State)
    .addNode("before", () => (calls.add("before"), { log: [`before${mark}`] }))
    .addNode("inner", async (_, config) => ({ log: (await inner.invoke({}, config)).log.slice(-1) }))
    .addNode("after", () => (calls.add("after"), { log: [`after${mark}`] }))
    .addEdge(START, "before")
    .addEdge("before", "inner")
    .addEdge("inner", "after")
    .compile({ checkpointer });
};

/** ask (in a subgraph) -> report. */
const asking = (checkpointer: BaseCheckpointSaver, calls: Calls) => {
  const inner = new StateGraph(State)
    .addNode("prepare", () => (calls.add("prepare"), { log: ["prepared"] }))
    .addNode("ask", () => {
      calls.add("ask");
      const answer: string = interrupt("sure?");
      return { log: [`answer=${answer}`] };
    })
    .addEdge(START, "prepare")
    .addEdge("prepare", "ask")
    .compile();
  return new StateGraph(State)
    .addNode("inner", async (_, config) => ({ log: (await inner.invoke({ log: [] }, config)).log }))
    .addNode("report", () => (calls.add("report"), { log: ["reported"] }))
    .addEdge(START, "inner")
    .addEdge("inner", "report")
    .compile({ checkpointer });
};

/** Time travel in graphs whose subgraphs have checkpoints of their own. */
export const subgraphTimeTravelTests = ({ test, saver, reopen, thread }: GraphContext): void => {
  test("a replay gives a persistent subgraph the memory it had then", async () => {
    const calls = new Calls();
    const config = thread();
    const graph = counting(saver(), calls, "");
    for (let turn = 0; turn < 3; turn++) await graph.invoke({ log: [] }, config);
    const history = await historyOf(graph, config);
    // The second turn, just before its subgraph ran.
    const secondTurn = history.filter((s) => s.next[0] === "inner")[1];
    expect(secondTurn?.values).toEqual({ log: ["before", "visit 1", "after", "before"] });
    calls.take();
    const replay = counting(await reopen(), calls, "'");
    const result = await replay.invoke(null, secondTurn?.config ?? {});
    expect(calls.take()).toEqual(["count", "after"]);
    expect(result).toEqual({ log: ["before", "visit 1", "after", "before", "visit 2'", "after'"] });
    expect((await counting(await reopen(), calls, "").getState(config)).values).toEqual(result);
    const old = await replay.getState(history[0]?.config ?? {});
    expect(old.values.log).toEqual([1, 2, 3].flatMap((visit) => ["before", `visit ${visit}`, "after"]));
  });

  test("a question in a subgraph is asked again from before it, and answered differently", async () => {
    const calls = new Calls();
    const config = thread();
    const graph = asking(saver(), calls);
    await graph.invoke({ log: ["in"] }, config);
    await graph.invoke(new Command({ resume: "yes" }), config);
    const first = await graph.getState(config);
    expect(first.values).toEqual({ log: ["in", "prepared", "answer=yes", "reported"] });
    const base = (await historyOf(graph, config)).find((s) => s.next[0] === "inner");
    calls.take();

    const other = asking(await reopen(), calls);
    await other.invoke(null, base?.config ?? {});
    expect(calls.take()).toContain("ask");
    const waiting = await asking(await reopen(), calls).getState(config);
    expect(interruptValues(waiting)).toEqual(["sure?"]);
    expect(idOf(waiting.parentConfig)).toBe(idOf(base?.config));
    const result = await asking(await reopen(), calls).invoke(new Command({ resume: "no" }), config);
    expect(result).toEqual({ log: ["in", "prepared", "answer=no", "reported"] });
    expect((await other.getState(first.config)).values).toEqual(first.values);
  });
};
