import type { CheckpointRecord, Tier } from "../contract/tier.ts";
import { unreserved } from "../contract/unreserved.ts";
import { refusePart } from "./archivedElsewhere.ts";

/** A side branch: the work of a writer that lost a race. */
export interface Conflict {
  readonly threadId: string;
  readonly namespace: string;
  /** Newest checkpoint of the branch; getTuple reads it by this id. */
  readonly checkpointId: string;
  /** Oldest checkpoint of the branch. */
  readonly firstCheckpointId: string;
  /** The main-line checkpoint that the branch departs from; absent if the thread was empty. */
  readonly parentId: string | undefined;
  /** The head that won. */
  readonly lostTo: string;
  /** How many checkpoints the branch has, from the oldest to the newest. */
  readonly checkpoints: number;
}

/**
 * The checkpoints of the side branch that ends with `tip`, oldest first.
 * @param records checkpoints of the namespace's side branches by id
 */
export function sideBranch(
  tip: CheckpointRecord,
  records: ReadonlyMap<string, CheckpointRecord>,
): CheckpointRecord[] {
  const branch: CheckpointRecord[] = [];
  for (let at: CheckpointRecord | undefined = tip; at?.lostTo !== undefined;) {
    branch.unshift(at);
    at = at.parentId === undefined ? undefined : records.get(at.parentId);
  }
  return branch;
}

/** Side branches of a thread, one per tip, newest tip first. @throws EvictedError if a part of the thread is in an archive that isn't open */
export async function listConflicts(tier: Tier, threadId: string): Promise<Conflict[]> {
  const byNamespace = new Map<string, Map<string, CheckpointRecord>>();
  for await (const { record } of unreserved(tier, { threadId, lost: true, recordsOnly: true })) {
    const records = byNamespace.get(record.namespace) ?? new Map<string, CheckpointRecord>();
    byNamespace.set(record.namespace, records.set(record.checkpointId, record));
  }
  await refusePart(tier, { threadId });
  const conflicts: Conflict[] = [];
  for (const [namespace, records] of byNamespace) {
    const parents = new Set([...records.values()].map(({ parentId }) => parentId));
    for (const tip of records.values()) {
      if (parents.has(tip.checkpointId)) continue;
      const branch = sideBranch(tip, records);
      const first = branch[0]!;
      conflicts.push({
        threadId,
        namespace,
        checkpointId: tip.checkpointId,
        firstCheckpointId: first.checkpointId,
        parentId: first.parentId,
        lostTo: first.lostTo!,
        checkpoints: branch.length,
      });
    }
  }
  return conflicts;
}
