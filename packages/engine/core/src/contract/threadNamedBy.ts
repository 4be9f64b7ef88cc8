import { StratigraphError } from "./errors.ts";

/** The thread that an error names; undefined if it names none. */
export function threadNamedBy(error: unknown): string | undefined {
  const threadId = StratigraphError.is(error) ? error.data["threadId"] : undefined;
  return typeof threadId === "string" ? threadId : undefined;
}
