import { AIMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import { Annotation, END, MessagesAnnotation, START, StateGraph } from "@langchain/langgraph";
import { ToolNode } from "@langchain/langgraph/prebuilt";
import type { TierSaver } from "@stratigraph/core";
import { z } from "zod";
import type { Journal } from "../../src/index.ts";

/** A message of a model that asks for calls. Ids differ each time, as those of real models do. */
export function asks(...calls: readonly { name: string; args: Record<string, unknown> }[]): AIMessage {
  return new AIMessage({
    content: "",
    tool_calls: calls.map((call) => ({
      ...call,
      id: `call_${crypto.randomUUID()}`,
      type: "tool_call" as const,
    })),
  });
}

export function says(text: string): AIMessage {
  return new AIMessage(text);
}

/** A tool that pays, and remembers what it paid. */
export function payments(behave: (amount: number, times: number) => unknown = () => undefined) {
  const paid: number[] = [];
  const pay = tool(
    async ({ amount }: { amount: number }) => {
      paid.push(amount);
      await behave(amount, paid.filter((it) => it === amount).length);
      return `receipt ${amount}`;
    },
    { name: "pay", description: "pays", schema: z.object({ amount: z.number() }) },
  );
  return { pay, paid };
}

/** A model's answers, by how often it was asked in this conversation. */
export type Script = (turn: number, asked: number) => AIMessage;

/** An agent of a StateGraph, whose model follows a script by how many answers the state has. */
export function agentOf(
  journal: Journal,
  tools: Parameters<Journal["tools"]>[0],
  script: Script,
  checkpointer: TierSaver,
) {
  let asked = 0;
  const State = Annotation.Root({ ...MessagesAnnotation.spec, ...journal.channel });
  const graph = new StateGraph(State)
    .addNode("agent", (state) => {
      const turn = state.messages.filter((message) => message.getType() === "ai").length;
      asked += 1;
      const message = script(turn, asked);
      return { messages: [message], ...journal.next(state, message) };
    })
    .addNode("tools", new ToolNode(tools as never))
    .addEdge(START, "agent")
    .addConditionalEdges("agent", (state) =>
      ((state.messages.at(-1) as AIMessage).tool_calls?.length ?? 0) > 0 ? "tools" : END,
    )
    .addEdge("tools", "agent")
    .compile({ checkpointer });
  return { graph, asked: () => asked };
}
