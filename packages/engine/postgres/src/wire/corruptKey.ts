import { StratigraphError } from "@stratigraph/core";
import type { UnknownKey } from "./keys.ts";

/** The error for a column that should hold the key of an id. @param what begins the sentence: what can't be read */
export function corruptKey(
  what: string,
  error: UnknownKey,
  context: { readonly threadId?: string | undefined; readonly column?: string },
): StratigraphError {
  const message = `${what} can't be read: ${error.message}. The stored bytes were damaged; restore them from a backup.`;
  return new StratigraphError("CORRUPT", message, context);
}
