import { StratigraphError } from "@stratigraph/core";
import type { TaskLike } from "./graphLike.ts";
import type { MergeSide } from "./mergeSide.ts";

/** The work that is still due on a side. */
export interface UnfinishedWork {
  readonly side: MergeSide;
  readonly next: readonly string[];
  readonly tasks: readonly TaskLike[];
}

/**
 * The error of a merge that would lose or repeat work.
 * @param reason why, as part of a sentence
 * @param sides the sides concerned, with their unfinished work
 * @param remedy what to do, as a sentence without its full stop
 */
export function mergeRefused(
  reason: string,
  sides: readonly UnfinishedWork[] = [],
  remedy = "Let the work end (or answer it) on all sides but one, or merge an earlier checkpoint, and merge again",
): StratigraphError {
  const named = sides.map(({ side, next }) => ({ ...side.at, next }));
  const where = named.map(
    ({ threadId, next }) => `${JSON.stringify(threadId)} (next: ${next.join(", ") || "nothing"})`,
  );
  return new StratigraphError(
    "MERGE_REFUSED",
    `The merge was refused: ${reason}${where.length === 0 ? "" : `; ${where.join(" and ")}`}. Nothing was written. ${remedy}.`,
    { reason, sides: named },
  );
}
