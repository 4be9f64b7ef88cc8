import { ERROR, INTERRUPT, RESUME } from "@langchain/langgraph-checkpoint";
import type { CheckpointCoder } from "../encode/checkpointCoder.ts";
import type { CheckpointRecord, StoredWriteBatch } from "../contract/tier.ts";
import { isExitTask, NULL_TASK, taskIdsOfNoTask } from "../langgraph/taskIds.ts";

/**
 * The pending writes that still count when a step is wound back: those from before any of its interrupts was answered. So its
 * interrupts wait again, and tasks that had ended by then don't run again. Left out are errors, answers, everything after
 * these, and what the step's tasks didn't write (new input, `updateState`, commands). A step without interrupts runs again
 * with no writes.
 *
 * @param batches those that count now, oldest first
 */
export async function firstAsked(
  coder: CheckpointCoder,
  record: CheckpointRecord,
  batches: readonly StoredWriteBatch[],
): Promise<readonly StoredWriteBatch[]> {
  const channels = await Promise.all(batches.map((batch) => coder.writes.channels(record, [batch])));
  const asked = new Map<string, number>();
  for (const [index, { taskId }] of batches.entries())
    if (channels[index]!.has(INTERRUPT) && !asked.has(taskId)) asked.set(taskId, index);
  if (asked.size === 0) return [];
  const answered = channels.findIndex((written) => written.has(RESUME));
  const before = answered === -1 ? batches : batches.slice(0, answered);
  const others = taskIdsOfNoTask(record.checkpointId, batches.length);
  return before.filter(({ taskId }, index) => {
    if (index > (asked.get(taskId) ?? index) || channels[index]!.has(ERROR)) return false;
    return taskId !== NULL_TASK && !others.has(taskId) && !isExitTask(taskId);
  });
}
