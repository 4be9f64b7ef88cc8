import type { Tier } from "@stratigraph/core";
import type { CheckpointRecord, StoredWriteBatch } from "@stratigraph/core/tier";
import { entryKey, isCopied } from "../contract/outline.ts";

/** What a Stratigraph storage already has of a thread. */
export interface ThreadThere {
  readonly revision: number;
  /** Records by key, see `entryKey`: checkpoints, calls and all else that is copied. */
  readonly records: ReadonlyMap<string, CheckpointRecord>;
  /** Pending writes by the key of their checkpoint. */
  readonly writes: ReadonlyMap<string, readonly StoredWriteBatch[]>;
  /** Heads by namespace. A thread whose copying was interrupted has none. */
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
    if (!isCopied(record.namespace)) continue;
    records.set(entryKey(record), record);
    if (batches.length > 0) writes.set(entryKey(record), batches);
    if (head !== undefined) heads.set(record.namespace, head);
  }
  return { revision, records, writes, heads };
}
