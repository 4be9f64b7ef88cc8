import { checkOptions, InvalidOptionError, msOf, type Duration, type OptionNames } from "@stratigraph/core";

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

/** Options of `maintain`. */
export interface MaintainOptions {
  /** Only tell what would be done, with its bytes. Default false. */
  readonly dryRun?: boolean | undefined;
  /** Ends it after the thread under way. */
  readonly signal?: AbortSignal | undefined;
}

/** Options of `startMaintenance`. */
export interface StartMaintenanceOptions {
  /** Time from the end of one maintenance to the next. */
  readonly every: Duration;
}

export const maintenanceNames: OptionNames<MaintenanceOptions> = {
  archiveAfter: true,
  keepLast: true,
  trimAfter: true,
  retain: true,
  batch: true,
  parallel: true,
  pause: true,
};

/** @throws InvalidOptionError: a misspelt `dryRun` would archive */
export function checkMaintainOptions(options: MaintainOptions): void {
  checkOptions(
    "maintain",
    options,
    { dryRun: true, signal: true },
    { dry: "Write dryRun.", every: "Use startMaintenance." },
  );
  const { dryRun, signal } = options;
  if (dryRun !== undefined && typeof dryRun !== "boolean")
    throw new InvalidOptionError("dryRun", typeof dryRun, "Pass true or false.");
  if (signal !== undefined && typeof signal?.addEventListener !== "function")
    throw new InvalidOptionError("signal", typeof signal, "Pass the signal of an AbortController.");
}

/** Milliseconds between two maintenances. @throws InvalidOptionError */
export function everyMsOf(options: StartMaintenanceOptions): number {
  checkOptions("startMaintenance", options, { every: true }, { interval: "Write every." });
  const ms = msOf("every", options?.every);
  if (ms < 1) throw new InvalidOptionError("every", options.every, "Use a duration of at least 1ms.");
  return ms;
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
