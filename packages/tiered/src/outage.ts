import { StratigraphError, type ErrorCode } from "@stratigraph/core";

/** Codes that say that a tier couldn't do its work, for whatever reason, rather than what it found. */
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

/** Whether an error means that the tier is in trouble; a conflict or a late write is an answer of a healthy one. */
export function isOutage(error: unknown): boolean {
  return !StratigraphError.is(error) || outages.has(error.code);
}

/** What an error says, for a sentence. */
export function reasonOf(error: unknown): string {
  return error instanceof Error && error.message !== "" ? error.message : String(error);
}
