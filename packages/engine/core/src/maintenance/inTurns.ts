import { StratigraphError, type ErrorCode } from "../contract/errors.ts";
import type { Tier } from "../contract/tier.ts";
import { Lease } from "./lease.ts";
import { sleep } from "./sleep.ts";

/** How long after a process died another one takes over. Milliseconds. */
const leaseMs = 60_000;
/** Rest after a step, as a multiple of the time it took. It has a limit, so that one long step doesn't delay the others for minutes. */
const restPerWork = 9;
const longestRestMs = 10_000;

/** Codes after which the next step would fail as well: the storage can't be reached, or was closed. */
const down: ReadonlySet<ErrorCode> = new Set<ErrorCode>(["UNAVAILABLE", "ARCHIVE_UNAVAILABLE", "CLOSED"]);

/** Options of {@link inTurns}. */
export interface Turns<Step> {
  /** Keeps the lease, if it can. */
  readonly tier: Tier;
  /** Name of the lease that lets one process at a time do this. Absent: any process may, as nothing is changed. */
  readonly lease?: string | undefined;
  /** Shortest rest after a step, in milliseconds; 0 is none. */
  readonly pauseMs: number;
  /** Called with every step when it is done. */
  readonly onStep?: ((step: Step) => void) | undefined;
  /** Whether to end after this step. Default: if its error says that the storage is down. */
  readonly isLast?: ((step: Step) => boolean) | undefined;
  /** Ends the work after the step under way. */
  readonly signal?: AbortSignal | undefined;
  /** Whether the rests keep the process alive. Default true. */
  readonly keepsAlive?: boolean | undefined;
}

/**
 * Takes steps one by one, in one process at a time. Rests after each for nine times as long as it took (at least `pauseMs`, at most
 * 10 seconds), so that the work takes a tenth of the time however busy the machine is. Ends early if the lease is lost, the signal is
 * aborted, or `isLast` says so.
 * @param steps undefined is a step that isn't reported, but is followed by a rest like any other
 * @returns the steps taken; undefined if another process has the lease
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
