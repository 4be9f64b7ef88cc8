import type { CallToolResult } from "@modelcontextprotocol/server";
import { StratigraphError } from "@stratigraph/core";

/** What a caller of the tools does about an error, in the words of the tools. */
const advice: Readonly<Record<string, string>> = {
  VERSION_GONE:
    "Call memory_since without version and cursor: its pages begin with the oldest change that is still there, and tell every item.",
  ACCESS_DENIED: 'An agent writes in ["agents", <its name>] and in ["shared"].',
};

const unexpected: { code: string; message: string; data: Readonly<Record<string, unknown>> } = {
  code: "INTERNAL",
  message: "The call failed for a reason inside of the server.",
  data: {},
};

/**
 * An error as the result of a tool: JSON with its code, message and data, in the text, as a result's structured content has to fit the
 * tool's output schema.
 */
export function failed(error: unknown): CallToolResult {
  // The message of another error may say more of the server than callers should know.
  const { code, message, data } = StratigraphError.is(error) ? error : unexpected;
  const { field, found: _, ...rest } = data;
  const told = {
    code,
    message: [message, advice[code]].filter(Boolean).join(" "),
    ...(typeof field === "string" && { field }),
    ...(Object.keys(rest).length > 0 && { data: rest }),
  };
  return { isError: true, content: [{ type: "text", text: JSON.stringify({ error: told }) }] };
}
