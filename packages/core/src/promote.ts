import { sideBranch } from "./conflicts.ts";
import { CheckpointConflictError, NotFoundError } from "./errors.ts";
import type { Address, CheckpointRecord, Tier } from "./tier.ts";

/** Moves a namespace's head to a checkpoint that exists; a side branch leading to it becomes main line. Returns the head before. */
export async function promote(tier: Tier, at: Address): Promise<string | undefined> {
  const { head, checkpoint, revision } = await tier.read(at);
  if (checkpoint === undefined) {
    throw new NotFoundError(
      `There is no checkpoint ${at.checkpointId} to promote. Look it up with list() or conflicts().`,
      { ...at },
    );
  }
  const side = new Map<string, CheckpointRecord>();
  if (checkpoint.record.lostTo !== undefined) {
    const { threadId, namespace } = at;
    for await (const { record } of tier.list({ threadId, namespace, lost: true, recordsOnly: true }))
      side.set(record.checkpointId, record);
  }
  const expected = head === undefined ? [] : [head];
  const appended = await tier.append({
    threadId: at.threadId,
    records: sideBranch(checkpoint.record, side).map(({ lostTo: _lostTo, ...record }) => record),
    blobs: [],
    relies: true,
    heads: [{ namespace: at.namespace, to: at.checkpointId, expected }],
    onConflict: "refuse",
    seen: revision,
  });
  // The checkpoint is stored, so a tier takes an append that came too late for a repeated one and refuses nothing.
  const late = appended.heads.find(({ moved }) => !moved);
  if (late !== undefined) {
    const { parentId } = checkpoint.record;
    throw new CheckpointConflictError({ ...at, parentId, head: late.head, expected });
  }
  return head;
}
