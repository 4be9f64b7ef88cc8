import { hostname } from "node:os";
import { InvalidOptionError, type Duration } from "@stratigraph/core";
import { checkOptions, waitMsOf, type OptionNames } from "@stratigraph/core/internal";

/** Options of `withThread`. */
export interface WithThreadOptions {
  /**
   * How long to wait for another run that works on the thread. "0ms" asks once. Default "45s", which is long enough to take over from a
   * process that died.
   */
  readonly waitFor?: Duration | undefined;
  /**
   * For how long the lock stays after its holder died, 1s to 1h. It is prolonged three times in this time, so it must be longer than
   * anything that blocks the process. Default "30s".
   */
  readonly leaseFor?: Duration | undefined;
  /** The holder's name, which others see in `ThreadBusyError`. Default: host name and process id. No more than 200 characters. */
  readonly by?: string | undefined;
  /** Ends the waiting, and is part of the signal that `work` is given. */
  readonly signal?: AbortSignal | undefined;
}

/** Options with every default filled in. */
export interface ResolvedWithThread {
  readonly waitMs: number;
  readonly leaseMs: number;
  readonly by: string;
  readonly signal: AbortSignal | undefined;
}

const names: OptionNames<WithThreadOptions> = { waitFor: true, leaseFor: true, by: true, signal: true };
const [shortestLeaseMs, longestLeaseMs] = [1000, 3_600_000];
const longestBy = 200;

/** @throws InvalidOptionError */
export function resolveWithThread(options: WithThreadOptions): ResolvedWithThread {
  checkOptions("withThread", options, names, { timeout: "Write waitFor.", ttl: "Write leaseFor." });
  const { waitFor = "45s", leaseFor = "30s", by = `${hostname()} process ${process.pid}`, signal } = options;
  const leaseMs = waitMsOf("leaseFor", leaseFor);
  if (leaseMs < shortestLeaseMs || leaseMs > longestLeaseMs)
    throw new InvalidOptionError("leaseFor", leaseFor, "Use a duration from 1s to 1h.");
  if (typeof by !== "string" || by.length > longestBy)
    throw new InvalidOptionError("by", typeof by, `Use text of at most ${longestBy} characters.`);
  if (signal !== undefined && typeof signal?.addEventListener !== "function")
    throw new InvalidOptionError("signal", typeof signal, "Pass the signal of an AbortController.");
  return { waitMs: waitMsOf("waitFor", waitFor), leaseMs, by, signal };
}
