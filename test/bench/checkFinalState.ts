import { createHash } from "node:crypto";
import type { BaseMessage } from "@langchain/core/messages";
import type { Replay } from "./replay.ts";

/**
 * Throws where the last state isn't what was played, in instances of the application's own classes: a figure of a saver that
 * returned something else would mean nothing. Resolves to the state's messages.
 */
export async function checkFinalState(
  thread: Replay,
  recording: readonly BaseMessage[],
): Promise<BaseMessage[]> {
  const { values } = await thread.graph.getState(thread.config);
  const { messages } = values as { messages: BaseMessage[] };
  if (digest(messages) !== digest(recording)) throw new Error("the final state is not what was replayed");
  for (const [index, message] of recording.entries())
    if (messages[index]?.constructor !== message.constructor)
      throw new Error(`message ${index} came back as an instance of another class`);
  return messages;
}

function digest(messages: readonly BaseMessage[]): string {
  const hash = createHash("sha256");
  for (const message of messages) {
    const calls = "tool_calls" in message ? message.tool_calls : [];
    hash.update(JSON.stringify([message.getType(), message.id, message.content, calls]));
  }
  return hash.digest("hex");
}
