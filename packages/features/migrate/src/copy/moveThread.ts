// long file: one move of one thread, from what is there to the deletion in the source
import { isDeepStrictEqual } from "node:util";
import { StratigraphError, type Tier, type TierSaver } from "@stratigraph/core";
import {
  batchDigest,
  blobsOf,
  CopiedThread,
  headlessError,
  isArchivedElsewhere,
  readInParts,
  refuseEvicted,
  rewindMark,
  type ThreadPart,
  type ThreadReading,
} from "@stratigraph/core/internal";
import {
  reservedNamespaces,
  type BlobHash,
  type CheckpointRecord,
  type HeadMove,
  type ListedCheckpoint,
  type StoredWriteBatch,
  type UnchangedDeleter,
} from "@stratigraph/core/tier";
import { batchIdOf, entryKey } from "../contract/outline.ts";
import { Appender } from "./appender.ts";
import { Erasures, isErased } from "./erasures.ts";
import { onlyHead } from "./ownThreads.ts";
import type { Difference } from "./report.ts";
import { revisionOf } from "./revisionOf.ts";
import { bringTags, tagsOf } from "./tags.ts";
import { headMoves, isOfImport, isOfThread, wentOn, type Side, type WentOn } from "./wentOn.ts";

/** The result of moving a thread. */
export interface MovedThread {
  readonly checkpoints: number;
  readonly writes: number;
  /** Both the target and the source have added to the thread since an earlier move. Nothing was changed. */
  readonly diverged: boolean;
  /** How many entries of its journal lost values in the target, as the source had erased them since. */
  readonly erased?: number;
  readonly differences: readonly Difference[];
  /** The source doesn't have the thread: it never had, or it was moved or deleted. */
  readonly isGone?: boolean;
}

/** How a thread is moved. */
interface MoveThreadOptions {
  readonly verify: boolean;
  /** Deletes the source's thread after its copy was compared, if nobody has written to it since. */
  readonly deletes: UnchangedDeleter | undefined;
}

/** What was added to a thread that the target doesn't have. */
const nothing: WentOn = { source: true, target: false };

/** The difference of a thread that was copied, and then not deleted in the source. */
export const changedSince = "it was written to before it could be deleted; repeat the move";

/** How many times a copy is tried at most, if the thread is written to meanwhile. */
const mostTries = 3;

/**
 * Copies a thread from one Stratigraph storage to another, byte for byte, without decoding it. A large thread is read, appended and
 * read back in parts. What the target already has stays unchanged, and so does a thread that went on there.
 * @throws StratigraphError if a storage can't be reached; CorruptionError, or "KEY_MISSING" if the target's options don't have the key
 * that the source was encrypted with
 */
export async function moveThread(
  from: TierSaver,
  to: TierSaver,
  threadId: string,
  options: MoveThreadOptions,
): Promise<MovedThread> {
  const done = { checkpoints: 0, writes: 0, diverged: false, erased: 0 };
  for (let tries = 1; ; tries += 1) {
    const revision = await revisionOf(from.tier, threadId);
    if (await isArchivedElsewhere(from.tier, threadId))
      return { ...done, differences: [{ threadId, what: onlyHead }] };
    const reading = await readInParts(from.tier, threadId);
    if (reading === undefined) {
      const { head } = await from.tier.peek({ threadId, namespace: "" });
      if (head === undefined) return { ...done, differences: [], isGone: true };
      return { ...done, differences: [{ threadId, what: onlyHead }] };
    }
    const root = { threadId, namespace: "" };
    if (!reading.heads.has("") && (await from.tier.peek(root)).headless === true) throw headlessError(root);
    await refuseEvicted(to.tier, threadId);
    const there = await thereOf(to.tier, threadId);
    const since = there.records.size === 0 ? nothing : await sinceOf(from, to, threadId, there);
    const told = (what: string): Difference => ({ threadId, what });
    const erasures = new Erasures(to, threadId, there.records);
    if (since.target && since.source) {
      const entries = { threadId, namespace: reservedNamespaces.calls, recordsOnly: true };
      if (erasures.mayBe)
        for await (const { record } of from.tier.list(entries)) await erasures.noteRecord(from, record);
      return { ...done, diverged: true, differences: erasures.kept().map(told) };
    }
    const differences = (await bringTags(to, threadId, await tagsOf(from, threadId))).map(told);
    const copy = options.verify
      ? new CopiedThread(
          (hash, blobs) => to.coder.blobs.payload(hash, blobs),
          (record) => isSame(from, to, record, since.target),
        )
      : undefined;
    try {
      const appender = new Appender(to.tier, threadId, there);
      const heads = await add(appender, reading, {
        ...{ there, copy, wentOn: since.target },
        isErased: (record) => erasures.noteRecord(from, record),
      });
      const isOvertaken = async () =>
        (await sinceOf(from, to, threadId, await thereOf(to.tier, threadId))).target;
      // Somebody may have continued the thread in the target since it was read there.
      const diverged =
        there.heads.size > 0 && !since.target && (await appender.isDisturbed()) && (await isOvertaken());
      if (!diverged) await appender.end(heads);
      if (!diverged && !since.target) await erasures.drop();
      if (!diverged) done.erased += since.target ? 0 : erasures.entries;
      done.checkpoints += appender.appended.checkpoints;
      done.writes += appender.appended.writes;
      if (diverged) return { ...done, diverged, differences: [] };
    } catch (error) {
      // Checkpoints were removed between two parts.
      if (tries < mostTries && StratigraphError.is(error, "STALE_READ")) continue;
      throw error;
    }
    const now = await revisionOf(from.tier, threadId);
    if (now !== revision && tries < mostTries) continue;
    if (now !== revision)
      return { ...done, differences: [told("it was written to while it was copied; repeat the move")] };
    if (copy !== undefined)
      differences.push(...(await verify(to, threadId, reading, { copied: copy, wentOn: since.target })));
    if (options.deletes === undefined || differences.length > 0) return { ...done, differences };
    if (!(await options.deletes.deleteUnchanged(threadId, revision))) differences.push(told(changedSince));
    return { ...done, differences };
  }
}

/** What the target has of a thread. */
interface There {
  readonly revision: number;
  readonly records: ReadonlyMap<string, CheckpointRecord>;
  readonly heads: ReadonlyMap<string, string>;
  readonly writes: ReadonlyMap<string, readonly StoredWriteBatch[]>;
  readonly blobs: ReadonlySet<BlobHash>;
}

async function thereOf(tier: Tier, threadId: string): Promise<There> {
  const { revision } = await tier.peek({ threadId, namespace: "" });
  const records = new Map<string, CheckpointRecord>();
  const heads = new Map<string, string>();
  const writes = new Map<string, readonly StoredWriteBatch[]>();
  if (revision === 0) return { revision, records, heads, writes, blobs: new Set() };
  for await (const { record, head, writes: batches } of tier.list({ threadId, recordsOnly: true })) {
    records.set(entryKey(record), record);
    if (head !== undefined) heads.set(record.namespace, head);
    if (batches.length > 0) writes.set(entryKey(record), batches);
  }
  const blobs = new Set<BlobHash>();
  for (const { hash } of await tier.blobs(threadId)) blobs.add(hash);
  return { revision, records, heads, writes, blobs };
}

/** What was added in both storages since an earlier move. Batches are the same if their names are, or the ids that they were given. */
async function sinceOf(from: TierSaver, to: TierSaver, threadId: string, there: There): Promise<WentOn> {
  const here = await thereOf(from.tier, threadId);
  const side = async ({ coder }: TierSaver, mine: There, theirs: There): Promise<Side> => {
    const batches = new Map<string, Set<string>>();
    for (const [key, written] of mine.writes) {
      const others = notIn(theirs.writes.get(key), written);
      const isOpened = notIn(written, theirs.writes.get(key)).length > 0;
      const ids = new Set<string>();
      for (const batch of others)
        ids.add(isOpened ? await idOf(coder, mine.records.get(key)!, batch) : batchDigest(batch));
      batches.set(key, ids);
    }
    return { entries: mine.records, heads: mine.heads, batches };
  };
  return wentOn(await side(from, here, there), await side(to, there, here));
}

/** The batches whose names others don't have, without the marks of imports. */
function notIn(others: readonly StoredWriteBatch[] = [], batches: readonly StoredWriteBatch[] = []) {
  const names = new Set(others.map(batchDigest));
  return batches.filter((batch) => !names.has(batchDigest(batch)) && !isOfImport(batch.taskId));
}

async function idOf(coder: TierSaver["coder"], record: CheckpointRecord, batch: StoredWriteBatch) {
  if (rewindMark(batch.taskId) !== undefined) return batchIdOf(batch)!;
  const [opened] = await coder.writes.open(record, [batch]);
  return batchIdOf(opened!) ?? batchDigest(batch);
}

/**
 * Adds what the target lacks: nothing to a thread that `wentOn` there, as what it lacks then was pruned, cut off or deleted there.
 * @param how `copy` gets the copied parts, to compare them later
 * @returns the heads to move: none if the thread `wentOn` in the target
 */
async function add(
  appender: Appender,
  reading: ThreadReading,
  how: {
    readonly there: There;
    readonly copy: CopiedThread | undefined;
    readonly wentOn: boolean;
    /** Whether the source erased values that the target's record still has. */
    isErased(record: CheckpointRecord): Promise<boolean>;
  },
): Promise<readonly HeadMove[]> {
  const { there, copy, wentOn, isErased } = how;
  const known = new Set(there.blobs);
  for await (const part of reading.parts()) {
    const isThere = ({ record }: ListedCheckpoint) => there.records.has(entryKey(record));
    copy?.add(wentOn ? { ...part, checkpoints: part.checkpoints.filter(isThere) } : part, []);
    if (!wentOn) await appendPart(appender, part, there, { known, isErased });
  }
  return wentOn ? [] : headMoves(reading.heads, reading.keys, there.heads);
}

/** @param known the hashes of the target's blobs; those of the part are added to it */
async function appendPart(
  appender: Appender,
  { checkpoints }: ThreadPart,
  there: There,
  { known, isErased }: { known: Set<BlobHash>; isErased(record: CheckpointRecord): Promise<boolean> },
): Promise<void> {
  const blobs = (listed: ListedCheckpoint) => {
    const found = blobsOf(listed, known);
    for (const { hash } of found) known.add(hash);
    return found;
  };
  for (const listed of checkpoints) {
    const { record } = listed;
    const isReplaced = await isErased(record);
    if (there.records.has(entryKey(record)) && !isReplaced) continue;
    const about = { at: record, record, writes: [], writeCount: 0, relies: true };
    await appender.add({ ...about, blobs: blobs({ ...listed, writes: [] }) });
  }
  const missing = checkpoints.flatMap((listed) => {
    const names = new Set(there.writes.get(entryKey(listed.record))?.map(batchDigest));
    return listed.writes
      .filter((batch) => !names.has(batchDigest(batch)))
      .map((batch) => ({ listed, batch }));
  });
  for (const { listed, batch } of missing.sort((a, b) => a.batch.order - b.batch.order)) {
    const { threadId, namespace, checkpointId } = listed.record;
    const { order: _order, ...written } = batch;
    await appender.add({
      at: { namespace, checkpointId },
      blobs: blobs({ ...listed, record: { ...listed.record, blobs: [] }, writes: [batch] }),
      writes: [{ threadId, namespace, checkpointId, ...written }],
      writeCount: 1,
      relies: true,
    });
  }
}

/**
 * Whether two records have the same contents although their bytes differ: one of them may have been re-encrypted, or values may have been
 * erased in a copy that `wentOn`.
 */
async function isSame(
  from: TierSaver,
  to: TierSaver,
  copy: CheckpointRecord,
  wentOn: boolean,
): Promise<boolean> {
  const { threadId, namespace, checkpointId } = copy;
  const at = { threadId, namespace, checkpointId };
  for await (const { record } of from.tier.list({ ...at, recordsOnly: true, limit: 1 })) {
    if (wentOn && (await isErased([to, copy], [from, record]))) return true;
    const [{ body: _ours, ...ours }, { body: _theirs, ...theirs }] = [record, copy];
    if (!isDeepStrictEqual(ours, theirs)) return false;
    try {
      return isDeepStrictEqual(await from.coder.decodeBody(record), await to.coder.decodeBody(copy));
    } catch (error) {
      if (!StratigraphError.is(error, "CORRUPT")) throw error;
    }
  }
  return false;
}

/** Reads back what was copied: the same records, heads and pending writes, and the same bytes of every value. */
async function verify(
  { tier, coder }: TierSaver,
  threadId: string,
  { heads, keys, isSmall }: ThreadReading,
  { copied, wentOn: hadGoneOn }: { readonly copied: CopiedThread; readonly wentOn: boolean },
): Promise<Difference[]> {
  const differences: Difference[] = [];
  const copy = await readInParts(tier, threadId, !isSmall);
  let wentOn = hadGoneOn;
  for await (const { checkpoints } of copy?.parts() ?? [])
    for (const listed of checkpoints) {
      const { record, head } = listed;
      const { namespace, checkpointId } = record;
      const isCopied = keys.has(entryKey(record));
      wentOn ||= !isCopied && isOfThread(namespace);
      const what = await copied.compare(listed);
      if (what !== undefined) differences.push({ threadId, namespace, checkpointId, what });
      // Decode the head: this fails if the target doesn't have the key.
      if (isCopied && head === checkpointId) await coder.decodeBody(record);
    }
  for (const { at, what } of copied.missing())
    differences.push({ threadId, namespace: at.namespace, checkpointId: at.checkpointId, what });
  for (const { namespace, to } of wentOn ? [] : headMoves(heads, keys, copy?.heads ?? new Map()))
    differences.push({ threadId, namespace, checkpointId: to, what: "it isn't the head" });
  return differences;
}
