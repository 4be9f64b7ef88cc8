import type { AIMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import { Annotation, END, MessagesAnnotation, START, StateGraph } from "@langchain/langgraph";
import { ToolNode } from "@langchain/langgraph/prebuilt";
import { currentCall, type Journal } from "@stratigraph/journal";
import { z } from "zod";
import { search } from "./documents.ts";
import { chooseModel } from "./model.ts";

/** Pays money back. Called once per request for a refund, whatever crashes. @param key the same for a repetition of the same refund */
export type PayBack = (refund: { amount: number; key: string }) => Promise<string>;

/** Refunds above this need a person. EUR. */
export const freeLimit = 100;

/**
 * The agent: looks documents up, asks a model, pays refunds. The state holds the ids of documents and not their texts, so that a
 * checkpoint stays small and a corrected document counts at once.
 */
export async function createAgent(journal: Journal, payBack: PayBack) {
  const refund = tool(({ amount }) => payBack({ amount, key: currentCall()!.idempotencyKey }), {
    name: "refund",
    description: "Pays money back to the customer who is asking",
    schema: z.object({ amount: z.number().positive().describe("EUR") }),
  });
  const model = await chooseModel(refund);
  const tools = journal.tools([refund], { refund: "once" });
  const State = Annotation.Root({
    ...MessagesAnnotation.spec,
    ...journal.channel,
    documents: Annotation<string[]>({ reducer: (_, found) => found, default: () => [] }),
  });
  return new StateGraph(State)
    .addNode("retrieve", ({ messages }) => ({ documents: search(messages.at(-1)!.text) }))
    .addNode("model", async (state, config) => {
      const message = await model(state.messages, state.documents, config.signal);
      return { messages: [message], ...journal.next(state, message) };
    })
    .addNode("tools", new ToolNode(tools))
    .addEdge(START, "retrieve")
    .addEdge("retrieve", "model")
    .addConditionalEdges("model", ({ messages }) =>
      ((messages.at(-1) as AIMessage).tool_calls?.length ?? 0) > 0 ? "tools" : END,
    )
    .addEdge("tools", "model")
    .compile({ checkpointer: journal.checkpointer });
}

/** The compiled agent. */
export type Agent = Awaited<ReturnType<typeof createAgent>>;
