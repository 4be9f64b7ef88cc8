import { InvalidOptionError, msOf, type Duration } from "@stratigraph/core";

/** What maintenance does. Without any of these it only finishes deletions. */
export interface MaintenanceOptions {
  /** Threads not written for this long move to the cold tier. Default: never. */
  readonly archiveAfter?: Duration | undefined;
  /** Of threads in use, this many newest checkpoints per namespace stay in the warm tier; older ones move to the cold tier. */
  readonly keepLast?: number | undefined;
  /** Of threads in use, checkpoints older than this move to the cold tier. With `keepLast` too, what either keeps stays. */
  readonly trimAfter?: Duration | undefined;
  /** Archived threads not archived anew for this long are deleted. Default: never. */
  readonly retain?: Duration | undefined;
  /** Threads that one maintenance archives or trims at most. Default 100. */
  readonly batch?: number | undefined;
  /** Threads archived at the same time: more gets through a backlog sooner, and takes more from what else runs. Default 1. */
  readonly parallel?: number | undefined;
  /**
   * Shortest pause after each of them. Default "20ms". The pause is nine times as long as the thread took, where that is more,
   * so that maintenance works a tenth of the time; "0ms" is without pauses: for a backlog.
   */
  readonly pause?: Duration | undefined;
}

/** Options with every default filled in; absent: not done. */
export interface ResolvedMaintenance {
  readonly archiveAfterMs: number | undefined;
  readonly keepLast: number | undefined;
  readonly trimAfterMs: number | undefined;
  readonly retainMs: number | undefined;
  readonly batch: number;
  readonly parallel: number;
  readonly pauseMs: number;
}

/** @throws InvalidOptionError */
export function resolveMaintenance(options: MaintenanceOptions, hasCold: boolean): ResolvedMaintenance {
  const { archiveAfter, keepLast, trimAfter, retain, batch = 100, parallel = 1, pause = "20ms" } = options;
  for (const [name, value] of Object.entries({ archiveAfter, keepLast, trimAfter, retain })) {
    if (value !== undefined && !hasCold)
      throw new InvalidOptionError(
        name,
        value,
        "It needs a cold tier to move checkpoints to: pass cold, or leave it out.",
      );
  }
  for (const [name, value] of Object.entries({ keepLast, batch, parallel })) {
    if (value !== undefined && (!Number.isInteger(value) || value < 1))
      throw new InvalidOptionError(name, value, "Use a whole number, 1 or more.");
  }
  return {
    archiveAfterMs: archiveAfter === undefined ? undefined : msOf("archiveAfter", archiveAfter),
    keepLast,
    trimAfterMs: trimAfter === undefined ? undefined : msOf("trimAfter", trimAfter),
    retainMs: retain === undefined ? undefined : msOf("retain", retain),
    batch,
    parallel,
    pauseMs: msOf("pause", pause),
  };
}
