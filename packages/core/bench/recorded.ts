import { existsSync, readFileSync } from "node:fs";
import {
  AIMessage,
  type BaseMessage,
  HumanMessage,
  SystemMessage,
  ToolMessage,
} from "@langchain/core/messages";

interface RecordedMessage {
  readonly role: string;
  readonly content: string | null;
  readonly name?: string;
  readonly tool_call_id?: string;
  readonly tool_calls?: readonly { id: string; function: { name: string; arguments: string } }[];
}

const DATA = new URL("../../../../shared/data/agent-conversations.json", import.meta.url);

/** The recorded conversations as LangChain messages; undefined, and said so, where they are missing. */
export function recordedMessages(): BaseMessage[][] | undefined {
  if (!existsSync(DATA)) {
    console.log(`Skipped: no recorded conversations at ${DATA.pathname}`);
    return undefined;
  }
  const recorded = JSON.parse(readFileSync(DATA, "utf8")) as { traj: RecordedMessage[] }[];
  let index = 0;
  return recorded.map(({ traj }) => traj.map((message) => toMessage(message, index++)));
}

function toMessage(recorded: RecordedMessage, index: number): BaseMessage {
  const id = `00000000-0000-4000-8000-${String(index).padStart(12, "0")}`;
  const content = recorded.content ?? "";
  switch (recorded.role) {
    case "system":
      return new SystemMessage({ id, content });
    case "user":
      return new HumanMessage({ id, content });
    case "tool":
      return new ToolMessage({
        id,
        content,
        name: recorded.name ?? "",
        tool_call_id: recorded.tool_call_id ?? "",
      });
    default: {
      const calls = (recorded.tool_calls ?? []).map((call) => ({
        id: call.id,
        name: call.function.name,
        args: JSON.parse(call.function.arguments) as Record<string, unknown>,
        type: "tool_call" as const,
      }));
      return new AIMessage({ id, content, tool_calls: calls });
    }
  }
}
