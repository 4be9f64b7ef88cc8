import { shown, type OptionNames } from "../contract/checkOptions.ts";
import { InvalidOptionError } from "../contract/errors.ts";
import { type Tier } from "../contract/tier.ts";
import { deletesUnchanged } from "../contract/tierExtensions.ts";
import { msOf, waitMsOf, type Duration } from "../contract/units.ts";

/**
 * What `maintain` takes away, so that storage doesn't grow for ever. Without any of these nothing is deleted or pruned.
 * Nothing happens by itself either: call `maintain()` or `startMaintenance()`.
 */
export interface RetentionOptions {
  /**
   * Threads not written for this long are deleted, for good. Also those that wait for a human's answer: an interrupt nobody
   * answered is a thread at rest. Default: never.
   */
  readonly deleteAfter?: Duration | undefined;
  /**
   * Of threads in use, this many newest checkpoints per namespace stay, and what `prune` keeps besides; older ones are pruned.
   * With a cold tier they move there instead. Default: all stay.
   */
  readonly keepLast?: number | undefined;
  /**
   * Of threads in use, checkpoints older than this are pruned; with a cold tier they move there instead. With `keepLast` too,
   * what either keeps stays; the newest one stays always. Default: never.
   */
  readonly trimAfter?: Duration | undefined;
  /** Threads that one maintenance looks at or changes at most. Default 100. */
  readonly batch?: number | undefined;
  /**
   * Shortest pause after each of them. Default "20ms". The pause is nine times as long as the thread took, where that is more,
   * so that maintenance works a tenth of the time; "0ms" is without pauses: for a backlog.
   */
  readonly pause?: Duration | undefined;
}

export const retentionNames: OptionNames<RetentionOptions> = {
  deleteAfter: true,
  keepLast: true,
  trimAfter: true,
  batch: true,
  pause: true,
};

/** Options with every default filled in; absent: not done. */
export interface ResolvedRetention {
  readonly deleteAfterMs: number | undefined;
  readonly keepLast: number | undefined;
  readonly trimAfterMs: number | undefined;
  readonly batch: number;
  readonly pauseMs: number;
}

/** How exactly tiers know when a thread was written. Milliseconds. */
export const writtenExactMs = 60_000;

/** @throws InvalidOptionError */
export function resolveRetention(options: RetentionOptions): ResolvedRetention {
  const { deleteAfter, keepLast, trimAfter, batch = 100, pause = "20ms" } = options;
  const deleteAfterMs = deleteAfter === undefined ? undefined : msOf("deleteAfter", deleteAfter);
  if (deleteAfterMs !== undefined && deleteAfterMs < writtenExactMs) {
    throw new InvalidOptionError(
      "deleteAfter",
      deleteAfter,
      'Storage knows to the minute when a thread was written: use a duration of at least "1m".',
    );
  }
  return {
    deleteAfterMs,
    keepLast: keepLast === undefined ? undefined : countOf("keepLast", keepLast),
    trimAfterMs: trimAfter === undefined ? undefined : msOf("trimAfter", trimAfter),
    batch: countOf("batch", batch),
    pauseMs: waitMsOf("pause", pause),
  };
}

/** Refuses to delete by age where a thread that is written to meanwhile couldn't be spared. @throws InvalidOptionError */
export function checkRetention(tier: Tier, { deleteAfter }: RetentionOptions): void {
  if (deleteAfter === undefined || deletesUnchanged(tier)) return;
  throw new InvalidOptionError(
    "deleteAfter",
    deleteAfter,
    `Tier ${tier.name} can't delete a thread only if nobody wrote to it meanwhile (it has no deleteUnchanged()). Leave it out, ` +
      `and delete threads that you know to be unused with deleteThread.`,
  );
}

/** A whole number of at least 1. @throws InvalidOptionError */
export function countOf(field: string, value: unknown): number {
  if (typeof value !== "number" || !Number.isInteger(value) || value < 1)
    throw new InvalidOptionError(field, shown(value), "Use a whole number, 1 or more.");
  return value;
}
