import { StratigraphError, type ErrorCode } from "@stratigraph/core";

const codes: readonly ErrorCode[] = ["UNAVAILABLE", "ARCHIVE_UNAVAILABLE", "CLOSED"];

/** Whether an error would come back for every other thread, each time after a wait. Then a walk over threads ends. */
export function isOutage(error: unknown): boolean {
  return codes.some((code) => StratigraphError.is(error, code));
}
