import { StratigraphError, type ErrorCode } from "@stratigraph/core";

const codes: readonly ErrorCode[] = ["UNAVAILABLE", "ARCHIVE_UNAVAILABLE", "CLOSED"];

/** Whether every other thread would fail, too, each after a while: then a walk over threads ends. */
export function isOutage(error: unknown): boolean {
  return codes.some((code) => StratigraphError.is(error, code));
}
