import type { Tier } from "@stratigraph/core";
import { isReserved, type CheckpointRecord, type StoredWriteBatch } from "@stratigraph/core/tier";
import { entryKey } from "../contract/outline.ts";

/** What a storage of ours has of a thread already. */
export interface ThreadThere {
  readonly revision: number;
  /** By key, see `entryKey`. Without those that Stratigraph keeps for itself. */
  readonly records: ReadonlyMap<string, CheckpointRecord>;
  /** Pending writes, likewise, of checkpoints that have some. */
  readonly writes: ReadonlyMap<string, readonly StoredWriteBatch[]>;
  /** Of namespaces that have one. A thread whose copying was interrupted has none. */
  readonly heads: ReadonlyMap<string, string>;
}

/** What a tier has of a thread. Values aren't read. */
export async function threadThere(tier: Tier, threadId: string): Promise<ThreadThere> {
  const { revision } = await tier.peek({ threadId, namespace: "" });
  const records = new Map<string, CheckpointRecord>();
  const writes = new Map<string, readonly StoredWriteBatch[]>();
  const heads = new Map<string, string>();
  if (revision === 0) return { revision, records, writes, heads };
  for await (const { record, head, writes: batches } of tier.list({ threadId, recordsOnly: true })) {
    if (isReserved(record.namespace)) continue;
    records.set(entryKey(record), record);
    if (batches.length > 0) writes.set(entryKey(record), batches);
    if (head !== undefined) heads.set(record.namespace, head);
  }
  return { revision, records, writes, heads };
}
