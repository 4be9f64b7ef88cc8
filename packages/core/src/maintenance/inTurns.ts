import { StratigraphError, type ErrorCode } from "../contract/errors.ts";
import type { Tier } from "../contract/tier.ts";
import { Lease } from "./lease.ts";
import { sleep } from "./sleep.ts";

/** How long after a process died another one may take over. Milliseconds. */
const leaseMs = 60_000;
/** Rest after a step, as a multiple of the time it took, and at most: a large one mustn't stop the others for minutes. */
const restPerWork = 9;
const longestRestMs = 10_000;

/** Codes after which the next step would fail as well: the storage can't be reached, or was closed. */
const down: ReadonlySet<ErrorCode> = new Set<ErrorCode>(["UNAVAILABLE", "ARCHIVE_UNAVAILABLE", "CLOSED"]);

/** How {@link inTurns} goes about it. */
export interface Turns<Step> {
  /** Keeps the lease, where it can. */
  readonly tier: Tier;
  /** What one process at a time does. Absent: anybody may, for what changes nothing. */
  readonly lease?: string | undefined;
  /** Shortest rest after a step, in milliseconds; 0 is none. */
  readonly pauseMs: number;
  /** Hears of every step as it is done. */
  readonly onStep?: ((step: Step) => void) | undefined;
  /** Whether to end after a step. Default: where its error says that the storage is down. */
  readonly isLast?: ((step: Step) => boolean) | undefined;
  /** Ends it after the step under way. */
  readonly signal?: AbortSignal | undefined;
  /** Whether resting keeps the process alive. Default true. */
  readonly keepsAlive?: boolean | undefined;
}

/**
 * Takes steps one by one, in one process at a time, with a rest after each, so that it works a tenth of the time whatever the
 * machine does besides. Ends early where the lease was lost, the signal came, or a step was the last one.
 * @param steps undefined for a step that isn't worth telling; rested after all the same
 * @returns undefined where another process has the lease
 */
export async function inTurns<Step extends { readonly error?: unknown }>(
  steps: AsyncIterable<Step | undefined>,
  turns: Turns<Step>,
): Promise<Step[] | undefined> {
  const {
    tier,
    lease: name,
    pauseMs,
    onStep,
    isLast = ({ error }) => isDown(error),
    signal,
    keepsAlive,
  } = turns;
  const lease = name === undefined ? undefined : new Lease(tier, name, leaseMs);
  if (lease !== undefined && !(await lease.take())) return undefined;
  const taken: Step[] = [];
  const ended = (): boolean => signal?.aborted === true || lease?.held === false;
  let beganMs = performance.now();
  try {
    for await (const step of steps) {
      const tookMs = performance.now() - beganMs;
      if (step !== undefined) {
        taken.push(step);
        onStep?.(step);
        if (isLast(step)) break;
      }
      if (ended()) break;
      if (pauseMs > 0) await sleep(restMs(tookMs, pauseMs), signal, { ref: keepsAlive });
      if (ended()) break;
      beganMs = performance.now();
    }
  } finally {
    await lease?.giveBack();
  }
  return taken;
}

function restMs(tookMs: number, pauseMs: number): number {
  return Math.max(pauseMs, Math.min(longestRestMs, tookMs * restPerWork));
}

/** Whether an error says that the storage is down, rather than that something is wrong with one thread. */
export function isDown(error: unknown): boolean {
  return StratigraphError.is(error) && down.has(error.code);
}
