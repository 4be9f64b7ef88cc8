import { checkOptions, kindOf } from "../contract/checkOptions.ts";
import { InvalidOptionError } from "../contract/errors.ts";
import { msOf, type Duration } from "../contract/units.ts";

/** Longest delay of a timer: with a longer one, Node fires it at once. */
const longestTimerMs = 2 ** 31 - 1;

/** Options of `maintain`. */
export interface MaintainOptions {
  /** Only report what would be done. Default false. */
  readonly dryRun?: boolean | undefined;
  /** Ends the maintenance after the thread under way. */
  readonly signal?: AbortSignal | undefined;
}

/** Options of `startMaintenance`. */
export interface StartMaintenanceOptions {
  /** Time from the end of one maintenance to the next. */
  readonly every: Duration;
}

/** Checks the options, because a misspelt `dryRun` would really delete. @throws InvalidOptionError */
export function checkMaintainOptions(options: MaintainOptions): void {
  checkOptions(
    "maintain",
    options,
    { dryRun: true, signal: true },
    { dry: "Write dryRun.", every: "Use startMaintenance." },
  );
  const { dryRun, signal } = options;
  if (dryRun !== undefined && typeof dryRun !== "boolean")
    throw new InvalidOptionError("dryRun", kindOf(dryRun), "Pass true or false.");
  if (signal !== undefined && typeof signal?.addEventListener !== "function")
    throw new InvalidOptionError("signal", kindOf(signal), "Pass the signal of an AbortController.");
}

/** Milliseconds between two maintenances. @throws InvalidOptionError */
export function everyMsOf(options: StartMaintenanceOptions): number {
  checkOptions("startMaintenance", options, { every: true }, { interval: "Write every." });
  const ms = msOf("every", options?.every);
  if (ms < 1 || ms > longestTimerMs)
    throw new InvalidOptionError("every", options.every, "Use a duration of at least 1ms, and at most 24d.");
  return ms;
}
