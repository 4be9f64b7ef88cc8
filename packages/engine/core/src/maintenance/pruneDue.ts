import type { CheckpointCoder } from "../encode/checkpointCoder.ts";
import { madeAtMs } from "../encode/record.ts";
import type { Tier } from "../contract/tier.ts";

/** Whether a thread has checkpoints to prune. */
export interface PruneDue {
  /** Whether its main line has checkpoints now that the rule doesn't keep. pruneThread may still find reasons to keep them all. */
  readonly isDue: boolean;
  /** When the next checkpoint reaches the age, if nobody writes to the thread. Milliseconds since 1970; Infinity: never. */
  readonly nextDueMs: number;
}

/**
 * A cheap check before pruneThread, which reads only the records of the thread's main line.
 * @param trimAfterMs the age at which checkpoints that aren't among the last `keepLast` are pruned; absent: at any age
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
