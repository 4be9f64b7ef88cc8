import { AIMessage, HumanMessage, type BaseMessage } from "@langchain/core/messages";
import { MessagesAnnotation, START, StateGraph } from "@langchain/langgraph";
import type { BaseCheckpointSaver, CheckpointTuple } from "@langchain/langgraph-checkpoint";

/** A graph that answers with how many messages it was given. */
export function counting(checkpointer: BaseCheckpointSaver) {
  return new StateGraph(MessagesAnnotation)
    .addNode("agent", ({ messages }) => ({
      messages: [new AIMessage({ content: `${messages.length} read`, id: `a${messages.length}` })],
    }))
    .addEdge(START, "agent")
    .compile({ checkpointer });
}

/** Says something on a thread, and returns all messages. */
export async function say(
  checkpointer: BaseCheckpointSaver,
  threadId: string,
  text: string,
): Promise<BaseMessage[]> {
  const config = { configurable: { thread_id: threadId } };
  const message = new HumanMessage({ content: text, id: `h-${text}` });
  return (await counting(checkpointer).invoke({ messages: [message] }, config)).messages;
}

/** A thread as a saver's `list` tells it, newest first, in a form that can be compared between savers. */
export async function history(saver: BaseCheckpointSaver, threadId: string) {
  const found = [];
  for await (const tuple of saver.list({ configurable: { thread_id: threadId } }, { limit: 100_000 }))
    found.push(comparable(tuple));
  return found.sort((a, b) => (a.id + a.namespace < b.id + b.namespace ? -1 : 1));
}

function comparable({ config, checkpoint, metadata, parentConfig, pendingWrites = [] }: CheckpointTuple) {
  return {
    id: checkpoint.id,
    namespace: String(config.configurable?.["checkpoint_ns"] ?? ""),
    checkpoint,
    metadata,
    parent: parentConfig?.configurable?.["checkpoint_id"] as string | undefined,
    writes: [...pendingWrites].sort((a, b) => (a[0] + a[1] < b[0] + b[1] ? -1 : 1)),
  };
}
