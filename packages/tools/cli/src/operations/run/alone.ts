import type { Tier } from "@stratigraph/core";
import { keepsLocks } from "@stratigraph/core/internal";
import { withThread } from "@stratigraph/service";

/** How long an answer waits for another run of the thread: one that has just been answered needs no second answer. */
const waitFor = "300ms";

/**
 * Works while nobody else answers this thread or runs it under its lock, so that what was found to wait still waits when it is answered.
 * A storage without locks has only the compare-and-set of heads.
 * @throws StratigraphError "THREAD_BUSY", "LOCK_LOST"
 */
export async function alone<T>(
  tier: Tier,
  threadId: string,
  signal: AbortSignal,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  if (!keepsLocks(tier)) return await work(signal);
  return await withThread(
    { tier },
    threadId,
    async (held) => {
      const done = await work(held.signal);
      // A run that is stopped from outside says so; one that lost its lock has failed.
      if (held.signal.aborted && !signal.aborted) throw held.signal.reason;
      return done;
    },
    { waitFor, signal },
  );
}
