import { StratigraphError, type ErrorCode } from "@stratigraph/core";

/** Codes which mean that a tier couldn't do its work. The other codes say what the tier found. */
const outages: ReadonlySet<ErrorCode> = new Set([
  "UNAVAILABLE",
  "OVERLOADED",
  "ARCHIVE_UNAVAILABLE",
  "NOT_SET_UP",
  "ACCESS_DENIED",
  "MISCONFIGURED",
  "DRIVER_MISSING",
  "STORAGE_FULL",
  "CLOSED",
  "LOCKED",
]);

/** Whether an error means that the tier is failing. A conflict or a refused late write is the answer of a healthy tier. */
export function isOutage(error: unknown): boolean {
  return !StratigraphError.is(error) || outages.has(error.code);
}

/** An error's message, to be put into a sentence. */
export function reasonOf(error: unknown): string {
  return error instanceof Error && error.message !== "" ? error.message : String(error);
}
