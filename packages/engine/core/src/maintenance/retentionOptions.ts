import { shown, type OptionNames } from "../contract/checkOptions.ts";
import { InvalidOptionError } from "../contract/errors.ts";
import { type Tier } from "../contract/tier.ts";
import { deletesUnchanged } from "../contract/tierExtensions.ts";
import { msOf, waitMsOf, type Duration } from "../contract/units.ts";

/**
 * What `maintain` removes, so that storage doesn't grow for ever. Without these options nothing is deleted or pruned. With them
 * nothing happens by itself either: call `maintain()` or `startMaintenance()`.
 */
export interface RetentionOptions {
  /**
   * Threads that weren't written to for this long are deleted for good, including those whose interrupt still waits for an answer.
   * Default: never.
   */
  readonly deleteAfter?: Duration | undefined;
  /**
   * How many of the newest checkpoints of each namespace stay in a thread in use, besides those that `prune` always keeps. Older
   * ones are pruned, or moved to the cold tier if there is one. Default: all stay.
   */
  readonly keepLast?: number | undefined;
  /**
   * In threads in use, checkpoints older than this are pruned, or moved to the cold tier if there is one. With `keepLast` as well,
   * checkpoints stay that either option keeps. The newest always stays. Default: never.
   */
  readonly trimAfter?: Duration | undefined;
  /**
   * Values of the channels named in `bestEffort` are removed from threads that weren't written to for this long. Default "1d".
   */
  readonly bestEffortFor?: Duration | undefined;
  /** How many threads one maintenance looks at or changes at most. Default 100. */
  readonly maxThreads?: number | undefined;
  /**
   * Shortest pause after each thread. Default "20ms". A pause takes nine times as long as the thread took if that is longer (up to
   * 10 seconds), so that maintenance works a tenth of the time. "0ms" makes no pauses, to work off a backlog.
   */
  readonly pause?: Duration | undefined;
}

export const retentionNames: OptionNames<RetentionOptions> = {
  deleteAfter: true,
  keepLast: true,
  trimAfter: true,
  bestEffortFor: true,
  maxThreads: true,
  pause: true,
};

/** Options with every default filled in. What is undefined isn't done. */
export interface ResolvedRetention {
  readonly deleteAfterMs: number | undefined;
  readonly keepLast: number | undefined;
  readonly trimAfterMs: number | undefined;
  readonly bestEffortMs: number | undefined;
  readonly maxThreads: number;
  readonly pauseMs: number;
}

/** How precisely tiers know when a thread was written. Milliseconds. */
export const writtenExactMs = 60_000;

/** @param bestEffort whether there are channels whose values are removed @throws InvalidOptionError */
export function resolveRetention(options: RetentionOptions, bestEffort = false): ResolvedRetention {
  const {
    deleteAfter,
    keepLast,
    trimAfter,
    bestEffortFor = "1d",
    maxThreads = 100,
    pause = "20ms",
  } = options;
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
    bestEffortMs: bestEffort ? msOf("bestEffortFor", bestEffortFor) : undefined,
    trimAfterMs: trimAfter === undefined ? undefined : msOf("trimAfter", trimAfter),
    maxThreads: countOf("maxThreads", maxThreads),
    pauseMs: waitMsOf("pause", pause),
  };
}

/** Refuses deletion by age on a tier that would also delete a thread that is written to meanwhile. @throws InvalidOptionError */
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
