import { randomUUID } from "node:crypto";
import { importUnderWay, isUnderWay, wholeCopy } from "../contract/copyMark.ts";
import { headlessError, StratigraphError, threadExists } from "../contract/errors.ts";
import { checkpointKey } from "../contract/keys.ts";
import { reservedNamespaces } from "../contract/reservedNamespaces.ts";
import {
  type Address,
  type Blob,
  type BlobHash,
  type CheckpointRecord,
  type HeadMove,
  type Tier,
  type WriteBatch,
} from "../contract/tier.ts";
import { copiesThreads, tagsThreads } from "../contract/tierExtensions.ts";
import { refusePart } from "./archivedElsewhere.ts";
import { blobsOf, isComplete, readInParts, type ThreadPart, type ThreadReading } from "./threadReading.ts";
import { withoutBytes } from "./withoutBytes.ts";

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

/** What a part adds to those that were appended before it. */
export interface PartContents extends Omit<ThreadContents, "heads"> {
  /** Whether it needs blobs that were appended before. These must still be there. */
  readonly relies: boolean;
}

/** Turns the parts of a thread into what is appended. Each blob comes once, with the first checkpoint that needs it. */
export class PartMaker {
  readonly #as: string;
  readonly #brought = new Set<BlobHash>();

  /** @param as the id of the copy */
  constructor(as: string) {
    this.#as = as;
  }

  of({ checkpoints }: ThreadPart): PartContents {
    const relies = this.#brought.size > 0 && checkpoints.every(isComplete);
    const blobs: Blob[] = [];
    const writes: (Address & WriteBatch & { readonly order: number })[] = [];
    const records = checkpoints.map((listed): CheckpointRecord => {
      for (const blob of blobsOf(listed, this.#brought)) {
        this.#brought.add(blob.hash);
        blobs.push(blob);
      }
      const { namespace, checkpointId } = listed.record;
      for (const batch of listed.writes)
        writes.push({ threadId: this.#as, namespace, checkpointId, ...batch });
      return { ...listed.record, threadId: this.#as };
    });
    writes.sort((a, b) => a.order - b.order);
    return { records, blobs, writes: writes.map(({ order: _order, ...batch }) => batch), relies };
  }
}

/** The namespace whose head says that a thread was copied in several parts, and by whom. */
const copyMark = reservedNamespaces.copy;

/**
 * The head move that says that a copy comes in parts. With this move the parts count as an import, which a deleted thread accepts.
 * @param by who copies
 */
export function comesInParts(by: string): HeadMove {
  return { namespace: copyMark, to: by, expected: "any" };
}

/**
 * Copies a thread inside a tier. First removes what an earlier copy to this id left if its process was killed.
 * @throws StratigraphError "THREAD_EXISTS"; EvictedError if a part of the source is in an archive that isn't open
 */
export async function copyThread(tier: Tier, sourceId: string, targetId: string): Promise<void> {
  await refusePart(tier, { threadId: sourceId });
  await refuseExisting(tier, targetId);
  if (copiesThreads(tier)) await tier.copyThread(sourceId, targetId);
  else await copyByReading(tier, sourceId, targetId);
}

/** @throws StratigraphError "THREAD_EXISTS" if a thread has checkpoints, unless a killed copy left them; also if they are archived */
async function refuseExisting(tier: Tier, threadId: string): Promise<void> {
  for await (const { record } of tier.list({ threadId, recordsOnly: true, limit: 1 }))
    if (!(await removeLeft(tier, threadId))) throw threadExists(threadId, record.checkpointId);
  // Of an archived thread whose archive isn't open only heads are here.
  for (const namespace of ["", reservedNamespaces.archived]) {
    const { revision, head } = await tier.peek({ threadId, namespace });
    if (head !== undefined) throw threadExists(threadId, head);
    if (revision === 0) return;
  }
}

/**
 * Removes the checkpoints of an unfinished copy in parts, whose process was killed or whose source changed. Such a thread has no heads.
 * @returns false if they are something else: a thread, an import, or a thread whose heads are lost
 */
async function removeLeft(tier: Tier, threadId: string): Promise<boolean> {
  const mark = await tier.peek({ threadId, namespace: copyMark });
  if (!isUnderWay(mark.head) || mark.head === importUnderWay) return false;
  const checkpoints: Address[] = [];
  for await (const { record, head } of tier.list({ threadId, recordsOnly: true })) {
    if (head !== undefined) return false;
    const { namespace, checkpointId } = record;
    checkpoints.push({ threadId, namespace, checkpointId });
  }
  const dropBlobs = (await tier.blobs(threadId)).map(({ hash }) => hash);
  const { revision } = mark;
  const heads = [{ namespace: copyMark }];
  return await tier.remove({ threadId, revision, checkpoints, dropBlobs, replaceBlobs: [], heads });
}

/** How often a copy in parts is tried at most, if somebody removes checkpoints of the source meanwhile. */
const mostTries = 3;

/**
 * Copies a thread by reading and appending it. A thread that is too large for one append is copied in parts. The last part brings the
 * heads: until then nobody sees the copy. Pending writes of checkpoints that aren't there are left out.
 * @param tier where it is read
 * @param target where it is appended, and where its tags are. Default: `tier`
 * @returns false if the source has no checkpoints
 * @throws StratigraphError "THREAD_EXISTS" if somebody else copies a thread to this id at the same time; "STALE_READ" if checkpoints
 * of the source were removed during each attempt
 */
export async function copyByReading(
  tier: Tier,
  sourceId: string,
  targetId: string,
  target: Tier = tier,
): Promise<boolean> {
  for (let tries = 1; ; tries += 1) {
    const reading = await readInParts(tier, sourceId);
    if (reading === undefined) return false;
    const unlisted = unlistedHead(sourceId, reading);
    // Somebody wrote to the thread while it was listed, or the bytes of the head are nowhere.
    if (unlisted !== undefined && tries < mostTries) continue;
    const root = { threadId: sourceId, namespace: "" };
    if (!reading.heads.has("") && (await tier.peek(root)).headless === true) throw headlessError(root);
    if (unlisted !== undefined) throw await withoutBytes(tier, unlisted);
    const mark = reading.heads.has("") ? undefined : await tier.peek({ ...root, namespace: copyMark });
    // What is copied of an import under way is no whole thread, either.
    const isHalf = isUnderWay(mark?.head);
    await inheritTags(target, sourceId, targetId);
    try {
      if (reading.isSmall) await copyAtOnce(reading, targetId, target, isHalf);
      else await copyInParts(reading, targetId, target, isHalf);
      return true;
    } catch (error) {
      const again = tries < mostTries && StratigraphError.is(error, "STALE_READ");
      if (!again || !(await removeLeft(target, targetId))) throw error;
    }
  }
}

/** A head whose checkpoint isn't among those that were read. */
function unlistedHead(threadId: string, { heads, keys }: ThreadReading): Address | undefined {
  for (const [namespace, checkpointId] of heads)
    if (!keys.has(checkpointKey({ namespace, checkpointId }))) return { threadId, namespace, checkpointId };
  return undefined;
}

async function copyAtOnce(
  reading: ThreadReading,
  targetId: string,
  target: Tier,
  isHalf: boolean,
): Promise<void> {
  const maker = new PartMaker(targetId);
  for await (const part of reading.parts()) {
    // A deleted thread accepts records that name parents only from an import. The records of a pruned thread name parents.
    const { revision } = await target.peek({ threadId: targetId, namespace: "" });
    const heads = movesOf(reading, revision === 0 ? [] : "any");
    await target.append({
      threadId: targetId,
      ...maker.of(part),
      relies: false,
      heads: isHalf ? [...heads, comesInParts(importUnderWay)] : heads,
      onConflict: "refuse",
    });
  }
}

async function copyInParts(
  reading: ThreadReading,
  targetId: string,
  target: Tier,
  isHalf: boolean,
): Promise<void> {
  const by = randomUUID();
  const request = { threadId: targetId, onConflict: "refuse" } as const;
  const claimed = await target.append({ ...request, records: [], blobs: [], heads: [comesInParts(by)] });
  // A caller that claimed the id earlier is refused from now on, so what is there stays.
  for await (const { record } of target.list({ threadId: targetId, recordsOnly: true, limit: 1 }))
    throw threadExists(targetId, record.checkpointId);
  const maker = new PartMaker(targetId);
  const isOurs: HeadMove = { namespace: copyMark, to: by, expected: [] };
  const ends: HeadMove = { namespace: copyMark, to: isHalf ? importUnderWay : wholeCopy, expected: [by] };
  const brought: Address[] = [];
  try {
    for await (const part of reading.parts()) {
      const heads = part.isLast ? [ends, ...movesOf(reading, [])] : [isOurs];
      await target.append({ ...request, ...maker.of(part), heads, seen: claimed.revision });
      for (const { record } of part.checkpoints)
        brought.push({
          threadId: targetId,
          namespace: record.namespace,
          checkpointId: record.checkpointId,
        });
    }
  } catch (error) {
    const isConflict = StratigraphError.is(error, "CHECKPOINT_CONFLICT");
    if (!isConflict && !StratigraphError.is(error, "STALE_READ")) throw error;
    const { head } = await target.peek({ threadId: targetId, namespace: copyMark });
    if (head !== by) throw threadExists(targetId, "another copy is made to it");
    // Somebody began the thread meanwhile, and must not find the copy in it.
    if (isConflict) await removeBrought(target, targetId, brought);
    throw error;
  }
}

/** Removes checkpoints from a thread that somebody began meanwhile. Blobs stay, as the new thread may need them. Pruning finds them. */
async function removeBrought(tier: Tier, threadId: string, checkpoints: readonly Address[]): Promise<void> {
  for (let tries = 0; tries < 8; tries += 1) {
    const { revision } = await tier.peek({ threadId, namespace: "" });
    if (await tier.remove({ threadId, revision, checkpoints, dropBlobs: [], replaceBlobs: [], heads: [] }))
      return;
  }
}

function movesOf({ heads }: ThreadReading, expected: HeadMove["expected"]): HeadMove[] {
  return [...heads].map(([namespace, to]) => ({ namespace, to, expected }));
}
