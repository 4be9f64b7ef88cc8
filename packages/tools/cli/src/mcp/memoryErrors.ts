import type { CallToolResult } from "@modelcontextprotocol/server";
import { StratigraphError } from "@stratigraph/core";
import { failure } from "./results.ts";

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

/** An error as the result of a tool of the memory. @param onError gets errors that aren't ours: callers aren't told what they say */
export function failed(error: unknown, onError: (error: unknown) => void): CallToolResult {
  if (!StratigraphError.is(error)) onError(error);
  const { code, message, data } = StratigraphError.is(error) ? error : unexpected;
  const { field, found: _, ...rest } = data;
  return failure({
    code,
    message: [message, advice[code]].filter(Boolean).join(" "),
    ...(typeof field === "string" && { field }),
    ...(Object.keys(rest).length > 0 && { data: rest }),
  });
}
