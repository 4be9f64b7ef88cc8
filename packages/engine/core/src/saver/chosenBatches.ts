import { writerOf } from "../encode/batchIds.ts";
import type { OpenedBatch } from "../encode/pendingWrites.ts";
import type { Consumed } from "../encode/record.ts";
import { currentWrites } from "../operations/currentWrites.ts";
import { ownOnly } from "./writers.ts";

/** Who wrote a batch, and for which task. */
type WrittenBatch = Pick<OpenedBatch, "taskId" | "batchId">;

/** The batches that are handed out as pending writes of a checkpoint, for a run to go on from. */
export function pendingBatches<Batch extends WrittenBatch>(batches: readonly Batch[]): readonly Batch[] {
  return batches.filter(({ batchId }) => batchId?.endsWith(ownOnly) !== true);
}

/**
 * The batches of its parent that a checkpoint was made from. If its writer ran a task itself, batches of others for the same task don't
 * count. Batches without an id, which older versions wrote, count.
 */
export function consumedBatches<Batch extends WrittenBatch>(
  batches: readonly Batch[],
  consumed: Consumed,
): readonly Batch[] {
  if (consumed === undefined) return batches;
  const [own] = consumed;
  const ids = new Set(consumed);
  const isOwn = ({ batchId }: Batch): boolean => batchId !== undefined && writerOf(batchId) === own;
  const counted = batches.filter(
    (batch) => batch.batchId === undefined || ids.has(batch.batchId) || isOwn(batch),
  );
  const done = new Set(counted.filter(isOwn).map(({ taskId }) => taskId));
  return counted.filter((batch) => isOwn(batch) || !done.has(batch.taskId));
}

/** The batches of a checkpoint that a child of it was made from. @param batches all of them, rewind marks among them */
export function batchesOfChild<Batch extends WrittenBatch & { readonly name: string }>(
  batches: readonly Batch[],
  { checkpointId, consumed }: { readonly checkpointId: string; readonly consumed: Consumed },
): readonly Batch[] {
  const counted = new Set(currentWrites(batches, checkpointId));
  // The child's own record of what it was made from counts more than the rewind marks. Marks don't name every child: if a child was made
  // before the checkpoint was wound back, and copied, no mark names the copy.
  const made = batches.filter(
    (batch) => counted.has(batch) || (consumed !== undefined && batch.batchId !== undefined),
  );
  return consumedBatches(made, consumed);
}
