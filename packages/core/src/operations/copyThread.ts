import {
  type Address,
  type Blob,
  type CheckpointRecord,
  type HeadMove,
  type Tier,
  type WriteBatch,
} from "../contract/tier.ts";
import { copiesThreads, tagsThreads } from "../contract/tierExtensions.ts";
import { threadExists } from "../contract/threadExists.ts";

/** A whole thread as a tier holds it, ready to be appended elsewhere. */
export interface ThreadContents {
  readonly records: readonly CheckpointRecord[];
  readonly blobs: readonly Blob[];
  readonly writes: readonly (Address & WriteBatch)[];
  readonly heads: readonly HeadMove[];
}

/** Reads a whole thread, and gives it the thread id `as`. Encoded bytes stay as they are. */
export async function readThread(
  tier: Tier,
  threadId: string,
  as: string = threadId,
): Promise<ThreadContents> {
  const records: CheckpointRecord[] = [];
  const blobs = new Map<string, Blob>();
  const writes: (Address & WriteBatch & { order: number })[] = [];
  const heads = new Map<string, string>();
  for await (const { record, blobs: found, writes: batches, head } of tier.list({ threadId })) {
    records.push({ ...record, threadId: as });
    for (const [hash, blob] of found) blobs.set(hash, blob);
    const { namespace, checkpointId } = record;
    for (const batch of batches) writes.push({ threadId: as, namespace, checkpointId, ...batch });
    if (head !== undefined) heads.set(namespace, head);
  }
  return {
    records: records.reverse(),
    blobs: [...blobs.values()],
    writes: writes.sort((a, b) => a.order - b.order).map(({ order: _order, ...batch }) => batch),
    heads: [...heads].map(([namespace, to]) => ({ namespace, to, expected: [] })),
  };
}

/** Gives a thread the tags of another one. Call it before the copy is written, so that the copy can always be found by them. */
export async function inheritTags(tier: Tier, sourceId: string, targetId: string): Promise<void> {
  if (!tagsThreads(tier)) return;
  const tags = await tier.threadTags(sourceId);
  if (tags.length > 0) await tier.tagThread(targetId, tags);
}

/** Copies a thread inside a tier. @throws StratigraphError "THREAD_EXISTS" */
export async function copyThread(tier: Tier, sourceId: string, targetId: string): Promise<void> {
  for await (const { record } of tier.list({ threadId: targetId, recordsOnly: true, limit: 1 })) {
    throw threadExists(targetId, record.checkpointId);
  }
  if (copiesThreads(tier)) await tier.copyThread(sourceId, targetId);
  else await copyByReading(tier, sourceId, targetId);
}

/**
 * Copies a thread by reading all of it and appending it. Pending writes of checkpoints that aren't there are left out.
 * @param tier where it is read
 * @param target where it is appended, and where its tags are. Default: `tier`
 * @returns false if the source has no checkpoints
 */
export async function copyByReading(
  tier: Tier,
  sourceId: string,
  targetId: string,
  target: Tier = tier,
): Promise<boolean> {
  const contents = await readThread(tier, sourceId, targetId);
  if (contents.records.length === 0) return false;
  await inheritTags(target, sourceId, targetId);
  // A deleted thread refuses records that name parents, as those of a pruned thread do, from everything but an import.
  const { revision } = await target.peek({ threadId: targetId, namespace: "" });
  const heads =
    revision === 0 ? contents.heads : contents.heads.map((move): HeadMove => ({ ...move, expected: "any" }));
  await target.append({ threadId: targetId, ...contents, heads, onConflict: "refuse" });
  return true;
}
