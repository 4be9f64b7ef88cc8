import type {
  CallToolResult,
  GetPromptResult,
  ListPromptsResult,
  ListResourcesResult,
  ListResourceTemplatesResult,
  ListToolsResult,
  ReadResourceResult,
} from "@modelcontextprotocol/server";
import type { Call } from "./inspector.ts";

/** The thread of the seed "chat", in which a person asks 30 times. */
const thread = "workshop chat";

const textOf = ({ contents: [first] }: ReadResourceResult): unknown =>
  JSON.parse((first as { readonly text: string }).text);

/** A call of each method, and what it answers over the seed "chat". */
export const calls: readonly Call[] = [
  {
    method: "tools/list",
    pick: ({ tools }: ListToolsResult) =>
      tools.map(({ name, annotations }) => [name, annotations?.readOnlyHint]),
    expected: [
      "threads",
      "inbox",
      "history",
      "show",
      "writes",
      "diff",
      "blame",
      "stats",
      "calls",
      "questions",
      "why",
      "verify",
    ].map((name) => [name, true]),
  },
  {
    method: "tools/call",
    args: ["--tool-name", "history", "--tool-args-json", JSON.stringify({ thread, limit: 2 })],
    pick: ({ structuredContent }: CallToolResult) =>
      (structuredContent as { items: { step: number }[] }).items.map(({ step }) => step),
    expected: [88, 87],
  },
  {
    method: "resources/list",
    pick: ({ resources }: ListResourcesResult) => resources.map(({ uri }) => uri),
    expected: ["stratigraph://threads", "stratigraph://threads/workshop%20chat"],
  },
  {
    method: "resources/templates/list",
    pick: ({ resourceTemplates }: ListResourceTemplatesResult) => resourceTemplates.map(({ name }) => name),
    expected: ["thread", "history", "calls", "run", "checkpoint", "channel"],
  },
  {
    method: "resources/read",
    args: ["--uri", "stratigraph://threads/workshop%20chat"],
    pick: (result: ReadResourceResult) =>
      (textOf(result) as { channels: { channel: string; value: unknown }[] }).channels.find(
        ({ channel }) => channel === "turns",
      )?.value,
    expected: 30,
  },
  {
    method: "prompts/list",
    pick: ({ prompts }: ListPromptsResult) => prompts.map(({ name }) => name),
    expected: ["why_did_this_run_fail", "compare_two_branches", "prepare_a_what_if"],
  },
  {
    method: "prompts/get",
    args: ["--prompt-name", "why_did_this_run_fail", "--prompt-args", `thread=${thread}`],
    pick: ({ messages }: GetPromptResult) => messages.map(({ content: { type } }) => type),
    expected: ["text", "resource"],
  },
];
