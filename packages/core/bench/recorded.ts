import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import * as langchain from "@langchain/core/messages";
import type { BaseMessage } from "@langchain/core/messages";
import { readConversation } from "../../../test/bench/recording.ts";

const DATA = fileURLToPath(new URL("../../../../shared/data/agent-conversations.json", import.meta.url));

/** The recorded conversations as LangChain messages; undefined, and said so, where they are missing. */
export function recordedMessages(): BaseMessage[][] | undefined {
  if (!existsSync(DATA)) {
    console.log(`Skipped: no recorded conversations at ${DATA}`);
    return undefined;
  }
  const conversations: BaseMessage[][] = [];
  for (let position = 0; ; position += 1) {
    const messages = readConversation(DATA, position, langchain);
    if (messages.length === 0) return conversations;
    conversations.push(messages);
  }
}
