import { CorruptionError, type TierSaver } from "@stratigraph/core";
import {
  blobClosure,
  missingBlob,
  namedBlobs,
  reservedNamespaces,
  type Address,
  type Blob,
  type BlobHash,
  type CheckpointRecord,
  type HeadMove,
  type ListedCheckpoint,
} from "@stratigraph/core/tier";
import { mergeRefused, type UnfinishedWork } from "./mergeRefused.ts";

const namespace = reservedNamespaces.calls;

/** The parts of an append that take tool calls over. */
export interface CallMoves {
  readonly records: readonly CheckpointRecord[];
  readonly blobs: readonly Blob[];
  readonly heads: readonly HeadMove[];
}

/**
 * The tool calls that sources of a merge made since they were forked, so that the target, which takes their work over, doesn't make
 * them again. A thread's calls are one chain with one end. So if the target has recorded calls of its own since, or the calls of another
 * source were taken over before, the calls stay in the source's thread, which the recorded move names.
 * @throws CorruptionError if a value of a call is missing
 */
export async function callMoves(
  saver: TierSaver,
  threadId: string,
  sources: readonly string[],
): Promise<CallMoves> {
  const headOf = async (id: string): Promise<string | undefined> =>
    (await saver.tier.peek({ threadId: id, namespace })).head;
  const had = await headOf(threadId);
  const blobs = new Map<BlobHash, Blob>();
  const records: CheckpointRecord[] = [];
  let head = had;
  for (const source of new Set(sources)) {
    const to = source === threadId ? undefined : await headOf(source);
    if (to === undefined || to === head) continue;
    const added = await callsBetween(saver, source, to, head);
    if (added === undefined) continue;
    for (const one of added) for (const [hash, blob] of blobsOf(one)) blobs.set(hash, blob);
    records.push(...added.map(({ record }) => ({ ...record, threadId })));
    head = to;
  }
  const heads =
    head === had || head === undefined
      ? []
      : [{ namespace, to: head, expected: had === undefined ? [] : [had] }];
  return { records, blobs: [...blobs.values()], heads };
}

/**
 * Refuses to continue a step of a source that has made calls: in the target they would be made again.
 * @param work what is still due on the side that is continued
 * @param isSame whether it is continued from the same checkpoint; then calls that are copied along are found again
 * @throws StratigraphError "MERGE_REFUSED"
 */
export async function refuseLostCalls(
  saver: TierSaver,
  threadId: string,
  work: UnfinishedWork,
  isSame: boolean,
): Promise<void> {
  const { at } = work.side;
  if (at.threadId === threadId || (work.next.length === 0 && work.tasks.length === 0)) return;
  const [had, last] = await Promise.all(
    [threadId, at.threadId].map(async (id) => (await saver.tier.peek({ threadId: id, namespace })).head),
  );
  if (last === undefined || last === had || !(await hasCallsOfStep(saver, at, had))) return;
  if (isSame && (await callsBetween(saver, at.threadId, last, had)) !== undefined) return;
  throw mergeRefused("a step of one side made tool calls and hasn't ended: they would be made again", [work]);
}

/** Whether the step that began from a checkpoint made calls after `since`, a call that the other thread has, too. */
async function hasCallsOfStep(
  { tier, coder }: TierSaver,
  { threadId, checkpointId }: Address,
  since: string | undefined,
): Promise<boolean> {
  for await (const { record } of tier.list({ threadId, namespace, recordsOnly: true })) {
    if (record.checkpointId === since) return false;
    const metadata: object = await coder.metadata(record, await coder.decodeBody(record));
    const { where } = Object((metadata as { event?: unknown }).event) as { where?: unknown };
    if ((Object(where) as { checkpoint?: unknown }).checkpoint === checkpointId) return true;
  }
  return false;
}

/** A source's calls from its last one back to `since`, oldest first; undefined if they don't lead there. */
async function callsBetween(
  saver: TierSaver,
  threadId: string,
  last: string,
  since: string | undefined,
): Promise<ListedCheckpoint[] | undefined> {
  const found: ListedCheckpoint[] = [];
  let next: string | undefined = last;
  // Ids sort by number, so the newest come first, and what both threads have isn't read.
  for await (const listed of saver.tier.list({ threadId, namespace })) {
    if (listed.record.checkpointId !== next) continue;
    found.push(listed);
    next = listed.record.parentId;
    if (next === since) return found.reverse();
  }
  return undefined;
}

/** @throws CorruptionError */
function blobsOf({ record, blobs, writes }: ListedCheckpoint): ReadonlyMap<BlobHash, Blob> {
  const named = namedBlobs(record, writes);
  const needed = blobClosure(named, blobs);
  if (needed !== undefined) return needed;
  throw new CorruptionError(record, `the blob ${missingBlob(named, blobs)} that it needs is missing`);
}
