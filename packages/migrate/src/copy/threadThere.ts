import { isReserved, type CheckpointRecord, type Tier } from "@stratigraph/core";
import { entryKey } from "../contract/outline.ts";

/** What a storage of ours has of a thread already. */
export interface ThreadThere {
  readonly revision: number;
  /** By key, see `entryKey`. Without those that Stratigraph keeps for itself. */
  readonly records: ReadonlyMap<string, CheckpointRecord>;
  /** Of namespaces that have one. A thread whose copying was interrupted has none. */
  readonly heads: ReadonlyMap<string, string>;
}

/** What a tier has of a thread. Values aren't read. */
export async function threadThere(tier: Tier, threadId: string): Promise<ThreadThere> {
  const { revision } = await tier.peek({ threadId, namespace: "" });
  const records = new Map<string, CheckpointRecord>();
  const heads = new Map<string, string>();
  if (revision === 0) return { revision, records, heads };
  for await (const { record, head } of tier.list({ threadId, recordsOnly: true })) {
    if (isReserved(record.namespace)) continue;
    records.set(entryKey(record), record);
    if (head !== undefined) heads.set(record.namespace, head);
  }
  return { revision, records, heads };
}
