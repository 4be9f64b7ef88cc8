import { AIMessage, ToolMessage } from "@langchain/core/messages";
import { Annotation, END, MessagesAnnotation, START, StateGraph } from "@langchain/langgraph";
import type { BaseCheckpointSaver } from "@langchain/langgraph-checkpoint";

/** The tools that the agent calls, in order: a trip booked in ten steps. */
export const tools = [
  "read_request",
  "search_flights",
  "compare_fares",
  "hold_seat",
  "search_hotels",
  "book_hotel",
  "rent_car",
  "check_visa",
  "charge_card",
  "send_summary",
] as const;

const Trip = Annotation.Root({
  ...MessagesAnnotation.spec,
  /** Finished steps. */
  step: Annotation<number>({ reducer: (_, next) => next, default: () => 0 }),
  /** How the agent decides; a fork changes it. */
  plan: Annotation<string>({ reducer: (_, next) => next, default: () => "comfort" }),
});

export type TripState = typeof Trip.State;

/** An agent without a model: it calls its tools one after another, as its plan says. */
export function tripAgent(
  checkpointer: BaseCheckpointSaver,
  callTool: (step: number, plan: string) => Promise<void>,
) {
  return new StateGraph(Trip)
    .addNode("agent", ({ step, plan }) => {
      const call = {
        name: tools[step]!,
        args: { plan },
        id: `call_${step + 1}_${plan}`,
        type: "tool_call" as const,
      };
      return { messages: [new AIMessage({ content: "", tool_calls: [call] })] };
    })
    .addNode("tools", async ({ messages, step, plan }) => {
      const call = (messages.at(-1) as AIMessage).tool_calls![0]!;
      await callTool(step + 1, plan);
      return {
        messages: [new ToolMessage({ content: `${call.name}: done, ${plan}`, tool_call_id: call.id! })],
        step: step + 1,
      };
    })
    .addEdge(START, "agent")
    .addEdge("agent", "tools")
    .addConditionalEdges("tools", ({ step }) => (step < tools.length ? "agent" : END))
    .compile({ checkpointer });
}
