import { readFileSync } from "node:fs";
import type { BaseMessage } from "@langchain/core/messages";
import type { LangChain } from "./libraries.ts";

/** A message as OpenAI's API has it. */
export interface RecordedMessage {
  role: "system" | "user" | "assistant" | "tool";
  content: string | null;
  tool_calls?: { id: string; function: { name: string; arguments: string } }[] | null;
  tool_call_id?: string;
  name?: string;
}

/** The first `conversations` of `file`, joined into one, as messages with ids, of the classes in `langchain`. */
export function readRecording(file: string, conversations: number, langchain: LangChain): BaseMessage[] {
  const messages = read(file)
    .slice(0, conversations)
    .flatMap((conversation) => conversation.traj);
  return toMessages({ traj: messages }, langchain);
}

/** One conversation of `file`, by its position, as messages like those of {@link readRecording}. */
export function readConversation(file: string, position: number, langchain: LangChain): BaseMessage[] {
  return toMessages(read(file)[position], langchain);
}

/**
 * The conversations of `file` by position, beginning again after the last one. Every call makes new message objects, as an
 * application does.
 */
export function conversations(file: string, langchain: LangChain): (position: number) => BaseMessage[] {
  const all = read(file);
  return (position) => toMessages(all[position % all.length], langchain);
}

/** A conversation of the recording, and of those that are generated in its place. */
export interface RecordedConversation {
  traj: RecordedMessage[];
}

function read(file: string): RecordedConversation[] {
  return JSON.parse(readFileSync(file, "utf8")) as RecordedConversation[];
}

function toMessages(recorded: RecordedConversation | undefined, langchain: LangChain): BaseMessage[] {
  return (recorded?.traj ?? []).map((message, index) => toLangChain(message, `m${index}`, langchain));
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
