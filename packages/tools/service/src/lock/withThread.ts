import { InvalidAddressError, InvalidOptionError, type Tier } from "@stratigraph/core";
import {
  eitherSignal,
  keepsLocks,
  LockTurns,
  RunsUnderWay,
  signalWithin,
  sleep,
} from "@stratigraph/core/internal";
import type { LockState } from "@stratigraph/core/tier";
import { ThreadBusyError } from "../errors.ts";
import type { ServedSaver } from "../servedSaver.ts";
import { personOf, ThreadLock } from "./threadLock.ts";
import { resolveWithThread, type WithThreadOptions } from "./withThreadOptions.ts";

/** Time between two questions to the storage while another process has the lock, at first and at most. Milliseconds. */
const [firstPauseMs, longestPauseMs] = [25, 500];

/** The argument of `work`, which holds the lock of a thread. */
export interface HeldThread {
  readonly threadId: string;
  /**
   * A fencing token: larger than that of every run that had the lock before. Other systems can remember the largest token they saw, and
   * refuse requests of a run that lost the lock without noticing. A safe integer.
   */
  readonly token: number;
  /**
   * Fires when the lock is lost (reason: {@link LockLostError}), and when the option `signal` does. Pass it to the graph:
   * `graph.invoke(input, { ...config, signal })`.
   */
  readonly signal: AbortSignal;
}

/** Runs of this process that wait for a thread, by tier. */
const turnsOf = new WeakMap<Tier, LockTurns>();

/**
 * Runs `work` while no other run that uses `withThread` works on the thread, in any process. Waits for the one that does, and takes over
 * if its process died, once its lease expired. It is for those who would rather wait than get a conflict: no checkpoint depends on it, as
 * heads are moved by compare-and-set. A run that lost the lock without noticing, because its process was suspended, gets a conflict.
 *
 * Don't call it for a thread inside the `work` of the same thread: it would wait for itself.
 * @throws ThreadBusyError if another run still works on the thread after `waitFor`; what `work` throws; what the storage throws; the reason of `signal` if that is aborted while waiting; InvalidOptionError,
 * also if the storage keeps no locks
 */
export async function withThread<T>(
  saver: Pick<ServedSaver, "tier">,
  threadId: string,
  work: (held: HeldThread) => Promise<T>,
  options: WithThreadOptions = {},
): Promise<T> {
  const { waitMs, leaseMs, by, signal } = resolveWithThread(options);
  if (typeof threadId !== "string" || threadId === "")
    throw new InvalidAddressError("threadId", typeof threadId, "Pass the id of a thread.");
  const { tier } = saver;
  if (!keepsLocks(tier))
    throw new InvalidOptionError(
      "saver",
      `storage ${tier.name}, which keeps no locks`,
      "Use withThread where PostgreSQL, Redis or memory owns the threads, or leave it out: a lost race is a conflict, and never an overwrite.",
    );
  signal?.throwIfAborted();
  const beganMs = performance.now();
  const ending = signalWithin(waitMs, signal);
  const turns = turnsOf.get(tier) ?? new LockTurns();
  turnsOf.set(tier, turns);
  const endTurn = await turns.take(threadId, ending.signal);
  const busy = (): Error =>
    new ThreadBusyError(threadId, turns.holderOf(threadId), performance.now() - beganMs);
  try {
    signal?.throwIfAborted();
    if (endTurn === undefined) throw busy();
    const lock = new ThreadLock(tier, threadId, by, leaseMs);
    try {
      const state = await taken(lock, ending.signal, ({ holder, sinceMs }) =>
        turns.note(threadId, { holder: personOf(holder), sinceMs }),
      );
      signal?.throwIfAborted();
      if (!state.held) throw busy();
      ending.release();
      const held = eitherSignal(lock.signal, signal);
      try {
        return await work({ threadId, token: state.token, signal: held.signal });
      } finally {
        // LangGraph rejects a run that was stopped before it has stored what the run had done. Whoever gets the lock reads all of it.
        await RunsUnderWay.of(tier).givesOn(threadId);
        held.release();
      }
    } finally {
      await lock.giveBack();
    }
  } finally {
    ending.release();
    endTurn?.();
  }
}

/** Asks again and again until the lock is taken, or waiting ends. Pauses are random, so that waiters don't ask at the same moment. */
async function taken(
  lock: ThreadLock,
  ending: AbortSignal,
  onState: (state: LockState) => void,
): Promise<LockState> {
  for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(longestPauseMs, pauseMs * 2)) {
    const state = await lock.take();
    onState(state);
    if (state.held || ending.aborted) return state;
    await sleep(pauseMs * (0.5 + Math.random() / 2), ending);
  }
}
