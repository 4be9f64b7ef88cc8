import { StratigraphError, type ErrorCode } from "@stratigraph/core";

const codes: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  "CORRUPT",
  "SERIALIZATION",
  "UNREGISTERED_TYPE",
  "NEWER_FORMAT",
  "NOT_FOUND",
  "EVICTED",
  "INVALID_ADDRESS",
  "CHECKPOINT_CONFLICT",
  "THREAD_DELETED",
  "STALE_READ",
  "STATE_VERSION",
  "AMBIGUOUS_OUTCOME",
]);

/** Whether an error concerns one thread only, so that the others can still be copied. */
export function isOfOneThread(error: unknown): error is StratigraphError {
  return StratigraphError.is(error) && codes.has(error.code);
}
