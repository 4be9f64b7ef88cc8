import { checkpointKey } from "@stratigraph/core/tier";
import type { CheckpointRecord } from "@stratigraph/core/tier";

/** The records with parents before children. */
export function parentsFirst(records: readonly CheckpointRecord[]): CheckpointRecord[] {
  const byKey = new Map(records.map((record) => [checkpointKey(record), record]));
  const ordered = new Set<CheckpointRecord>();
  for (const record of records) {
    const chain: CheckpointRecord[] = [];
    for (let next: CheckpointRecord | undefined = record; next !== undefined && !ordered.has(next);) {
      chain.push(next);
      const { namespace, parentId }: CheckpointRecord = next;
      next =
        parentId === undefined ? undefined : byKey.get(checkpointKey({ namespace, checkpointId: parentId }));
    }
    for (const one of chain.reverse()) ordered.add(one);
  }
  return [...ordered];
}
