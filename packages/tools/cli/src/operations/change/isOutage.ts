import { StratigraphError, type ErrorCode } from "@stratigraph/core";

const codes: readonly ErrorCode[] = ["UNAVAILABLE", "ARCHIVE_UNAVAILABLE", "CLOSED"];

/** Whether an error would also fail every other thread, each after a wait. A walk over threads then ends. */
export function isOutage(error: unknown): boolean {
  return codes.some((code) => StratigraphError.is(error, code));
}
