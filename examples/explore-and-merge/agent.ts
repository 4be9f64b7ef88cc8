import { AIMessage, ToolMessage, type AIMessageFields } from "@langchain/core/messages";
import { Annotation, END, MessagesAnnotation, START, StateGraph } from "@langchain/langgraph";
import type { BaseCheckpointSaver } from "@langchain/langgraph-checkpoint";

/** A way of looking for a place to stay: the tools it calls, and what they find. */
interface StrategyOfAgent {
  tools: string[];
  tokens: number;
  price: number;
  place: string;
}

export const strategies: Record<string, StrategyOfAgent> = {
  plan: { tools: ["read_request", "check_dates"], tokens: 180, price: 0, place: "" },
  cheapest: { tools: ["search_hostels", "compare_prices"], tokens: 310, price: 38, place: "Hostel Alfama" },
  central: {
    tools: ["search_hotels", "read_map", "compare_prices"],
    tokens: 520,
    price: 129,
    place: "Hotel Baixa",
  },
  thorough: {
    tools: ["search_hotels", "search_hostels", "read_reviews", "read_map", "compare_prices"],
    tokens: 1450,
    price: 74,
    place: "Pensão Graça",
  },
};

const Trip = Annotation.Root({
  ...MessagesAnnotation.spec,
  strategy: Annotation<string>(),
  step: Annotation<number>({ reducer: (_, next) => next, default: () => 0 }),
  place: Annotation<string>(),
  price: Annotation<number>(),
});

/** An agent without a model: it calls the tools of its strategy one by one, then says what it found. */
export function tripAgent(checkpointer: BaseCheckpointSaver) {
  return new StateGraph(Trip)
    .addNode("agent", ({ strategy, step, messages }) => {
      const { tools, tokens, price, place } = strategies[strategy]!;
      const name = tools[step];
      const total = Math.round(tokens / (tools.length + 1));
      const usage_metadata = { input_tokens: total - 20, output_tokens: 20, total_tokens: total };
      const id = `${strategy}-${messages.length}`;
      const said: AIMessageFields =
        name === undefined
          ? { id, content: place === "" ? "Four nights in Lisbon, in May." : `${place}, €${price} a night` }
          : { id, content: "", tool_calls: [{ name, args: {}, id: `call-${id}` }] };
      const message = new AIMessage({ ...said, usage_metadata } as AIMessageFields);
      return name === undefined && place !== ""
        ? { messages: [message], place, price }
        : { messages: [message] };
    })
    .addNode("tools", ({ messages, step }) => {
      const call = (messages.at(-1) as AIMessage).tool_calls![0]!;
      const said = { id: `done-${call.id}`, content: `${call.name}: done`, tool_call_id: call.id! };
      return { messages: [new ToolMessage(said)], step: step + 1 };
    })
    .addEdge(START, "agent")
    .addConditionalEdges("agent", ({ messages }) =>
      ((messages.at(-1) as AIMessage).tool_calls ?? []).length > 0 ? "tools" : END,
    )
    .addEdge("tools", "agent")
    .compile({ checkpointer });
}
