import { Annotation, END, START, StateGraph } from "@langchain/langgraph";
import type { TierSaver } from "@stratigraph/core";
import type { Journal } from "@stratigraph/journal";

/** A graph that pays for an order once, by code in a node. */
export function payingGraph(checkpointer: TierSaver, journal: Journal, pay: (order: string) => string) {
  const State = Annotation.Root({ order: Annotation<string>(), receipt: Annotation<string>() });
  return new StateGraph(State)
    .addNode("sell", async ({ order }, config) => ({
      receipt: await journal.run(config, { id: "pay", args: { order } }, () => pay(order)),
    }))
    .addEdge(START, "sell")
    .addEdge("sell", END)
    .compile({ checkpointer });
}
