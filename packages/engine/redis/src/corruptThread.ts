import { StratigraphError } from "@stratigraph/core";
import { DamagedValue } from "./lengthPrefixed.ts";

/** The error for a thread whose stored fields are damaged. @param what which field, and what is wrong with it */
export function corruptThread(threadId: string, what: string, cause?: unknown): StratigraphError {
  return new StratigraphError(
    "CORRUPT",
    `Thread ${JSON.stringify(threadId)} can't be read: in its hash in Redis, ${what}. The stored bytes were damaged, tampered with or ` +
      `lost; "stratigraph repair" mends what follows from the rest, otherwise restore the key from a backup.`,
    { threadId, tier: "redis" },
    cause,
  );
}

/** Adds the thread to an error that reports damaged data; returns other errors unchanged. */
export function ofThread(threadId: string | undefined, error: unknown): unknown {
  if (threadId === undefined) return error;
  if (error instanceof DamagedValue) return corruptThread(threadId, error.message, error);
  if (!StratigraphError.is(error, "CORRUPT") || error.data["threadId"] !== undefined) return error;
  const { field } = error.data;
  return typeof field === "string" ? corruptThread(threadId, field, error.cause) : error;
}
