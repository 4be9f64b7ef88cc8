import { AIMessage, HumanMessage, ToolMessage, type BaseMessage } from "@langchain/core/messages";
import { Annotation, interrupt, MessagesAnnotation, Send, START, StateGraph } from "@langchain/langgraph";
import type { TierSaver } from "@stratigraph/core";

const calls = ["tea", "coffee", "cocoa"].map((what) => ({
  id: `call-${what}`,
  name: "task",
  args: { subagent_type: what === "cocoa" ? "critic" : "scout", description: `find ${what}` },
  type: "tool_call" as const,
}));

function scout(question: string): (state: { messages: BaseMessage[] }) => { messages: BaseMessage[] } {
  return ({ messages }) => {
    const [asked] = messages;
    if (asked!.text === question) interrupt("which cocoa?");
    return { messages: [new AIMessage(`${asked!.text}: found`)] };
  };
}

/** Each call goes to a task of its own, which runs an agent. */
export function team(checkpointer: TierSaver) {
  const agent = new StateGraph(MessagesAnnotation)
    .addNode("model", scout("find cocoa"))
    .addEdge(START, "model")
    .compile();
  const State = Annotation.Root({ ...MessagesAnnotation.spec, lg_tool_call: Annotation<(typeof calls)[0]> });
  return new StateGraph(State)
    .addNode("model", () => ({ messages: [new AIMessage({ content: "", tool_calls: calls })] }))
    .addNode("tools", async ({ lg_tool_call: call }) => {
      const { messages } = await agent.invoke({ messages: [new HumanMessage(call.args.description)] });
      return { messages: [new ToolMessage({ content: messages.at(-1)!.text, tool_call_id: call.id })] };
    })
    .addEdge(START, "model")
    .addConditionalEdges("model", () => calls.map((call) => new Send("tools", { lg_tool_call: call })), [
      "tools",
    ])
    .compile({ checkpointer });
}
