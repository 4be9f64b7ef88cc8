import { readFileSync } from "node:fs";
import * as langchain from "@langchain/core/messages";
import type { BaseMessage } from "@langchain/core/messages";

interface RecordedMessage {
  role: "system" | "user" | "assistant" | "tool";
  content: string | null;
  tool_calls?: { id: string; function: { name: string; arguments: string } }[] | null;
  tool_call_id?: string;
  name?: string;
}

/** The classes that are used of LangChain, of whichever build. */
export type LangChain = Pick<
  typeof langchain,
  "AIMessage" | "HumanMessage" | "SystemMessage" | "ToolMessage"
>;

/**
 * The first `conversations` recordings of `file`, joined into one, as LangChain messages with ids.
 * @param build LangChain's messages, where not those of the ESM build are meant
 */
export function readRecording(
  file: string,
  conversations: number,
  build: LangChain = langchain,
): BaseMessage[] {
  const all = JSON.parse(readFileSync(file, "utf8")) as { traj: RecordedMessage[] }[];
  const messages = all.slice(0, conversations).flatMap((conversation) => conversation.traj);
  return messages.map((message, index) => toLangChain(message, `m${index}`, build));
}

/** One recording of `file`, by its position, as {@link readRecording} has it. */
export function readConversation(file: string, position: number): BaseMessage[] {
  const all = JSON.parse(readFileSync(file, "utf8")) as { traj: RecordedMessage[] }[];
  return (all[position]?.traj ?? []).map((message, index) => toLangChain(message, `m${index}`, langchain));
}

function toLangChain(
  message: RecordedMessage,
  id: string,
  { AIMessage, HumanMessage, SystemMessage, ToolMessage }: LangChain,
): BaseMessage {
  const content = message.content ?? "";
  switch (message.role) {
    case "system":
      return new SystemMessage({ id, content });
    case "user":
      return new HumanMessage({ id, content });
    case "tool":
      return new ToolMessage({
        id,
        content,
        tool_call_id: message.tool_call_id ?? "",
        name: message.name ?? "",
      });
    case "assistant": {
      const calls = (message.tool_calls ?? []).map((call) => ({
        id: call.id,
        name: call.function.name,
        args: JSON.parse(call.function.arguments) as Record<string, unknown>,
        type: "tool_call" as const,
      }));
      return new AIMessage({ id, content, tool_calls: calls });
    }
  }
}
