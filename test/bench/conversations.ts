import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { generateConversations } from "./generatedConversations.ts";

/** Where recorded conversations lie, if at all: beside the repository, not in it. */
export const RECORDED = fileURLToPath(
  new URL("../../../shared/data/agent-conversations.json", import.meta.url),
);

/** Conversations to replay: a JSON file of them, and where they come from. */
export interface Conversations {
  readonly file: string;
  readonly origin: "recorded" | "generated";
}

/**
 * The recorded conversations, or generated ones of the same shape where they are absent or `generated` asks for these. A generated
 * file is temporary: it goes when the process ends.
 */
export function findConversations({ generated = false } = {}): Conversations {
  if (!generated && existsSync(RECORDED)) return { file: RECORDED, origin: "recorded" };
  const folder = mkdtempSync(join(tmpdir(), "stratigraph-conversations-"));
  process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, "conversations.json");
  writeFileSync(file, JSON.stringify(generateConversations()));
  return { file, origin: "generated" };
}
