import type { CheckpointCoder } from "../encode/checkpointCoder.ts";
import { madeAtMs } from "../encode/record.ts";
import type { Tier } from "../contract/tier.ts";

/** Whether a thread has checkpoints to lose. */
export interface PruneDue {
  /** Its main line has some now that the rule leaves over; pruneThread may still keep all of them. */
  readonly isDue: boolean;
  /** When the next ones come of age, if nobody writes to it: milliseconds since 1970; Infinity: never. */
  readonly nextDueMs: number;
}

/**
 * Asks for the records of a thread's main line alone: a cheap question before pruneThread.
 * @param trimAfterMs the age at which checkpoints go that aren't among the last; absent: at any age
 */
export async function pruneDue(
  tier: Tier,
  coder: CheckpointCoder,
  threadId: string,
  { keepLast, trimAfterMs }: { readonly keepLast: number; readonly trimAfterMs?: number | undefined },
  nowMs: number,
): Promise<PruneDue> {
  const limit = trimAfterMs === undefined ? keepLast + 1 : undefined;
  let [count, isDue, nextDueMs] = [0, false, Number.POSITIVE_INFINITY];
  for await (const { record } of tier.list({ threadId, namespace: "", recordsOnly: true, limit })) {
    count += 1;
    if (count <= keepLast) continue;
    const dueMs = trimAfterMs === undefined ? 0 : madeAtMs(await coder.decodeBody(record)) + trimAfterMs;
    if (dueMs < nowMs) isDue = true;
    else nextDueMs = Math.min(nextDueMs, dueMs);
  }
  return { isDue, nextDueMs };
}
