import { MessagesAnnotation, START, StateGraph } from "@langchain/langgraph";
import {
  createCheckpointer,
  type ErrorCode,
  MemorySaver,
  PostgresSaver,
  StratigraphError,
  type TierSaver,
} from "stratigraph";
import { createWorkspace } from "@stratigraph/workspace";
import { syncMemory } from "@stratigraph/workspace/mcp";

// Type-checked as CommonJS, as ES modules, for bundlers, and by the classic rules of node10.
export async function main(url: string): Promise<ErrorCode | undefined> {
  const checkpointer: TierSaver = await createCheckpointer({ memory: true, conflict: "branch" });
  const graph = new StateGraph(MessagesAnnotation)
    .addNode("agent", () => ({ messages: [{ role: "assistant", content: "Hello." }] }))
    .addEdge(START, "agent")
    .compile({ checkpointer });
  graph.checkpointer = new MemorySaver();
  graph.checkpointer = PostgresSaver.fromConnString(url, { schema: "agents" });
  await syncMemory(createWorkspace(checkpointer, "memory"), { callTool: () => Promise.resolve({}) });
  // @ts-expect-error A wrong option is a type error, so the types were found.
  await createCheckpointer({ memory: 1 });
  try {
    await graph.invoke({ messages: [] }, { configurable: { thread_id: "ada" } });
  } catch (error) {
    if (StratigraphError.is(error)) return error.code;
    throw error;
  }
  return undefined;
}
