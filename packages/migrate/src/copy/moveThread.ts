import {
  batchDigest,
  isKeptWhole,
  isReserved,
  namedBlobs,
  readThread,
  tagsThreads,
  type Blob,
  type BlobHash,
  type CheckpointRecord,
  type ThreadContents,
  type Tier,
  type TierSaver,
  type UnchangedDeleter,
} from "@stratigraph/core";
import { entryKey } from "../contract/outline.ts";
import { Appender } from "./appender.ts";
import { onlyHead } from "./ownThreads.ts";
import type { Difference } from "./report.ts";

/** What became of a thread. */
export interface MovedThread {
  readonly checkpoints: number;
  readonly writes: number;
  /** It went on in the target since an earlier move, and also in the source. Nothing was changed. */
  readonly diverged: boolean;
  readonly differences: readonly Difference[];
}

/** How a thread is moved. */
interface MoveThreadOptions {
  readonly verify: boolean;
  /** Deletes the source's thread once its copy was compared, if nobody wrote to it since. */
  readonly deletes: UnchangedDeleter | undefined;
}

/** How often a thread is copied at most, if it is written to meanwhile. */
const mostTries = 3;

/**
 * Copies a thread from one storage of ours to another, byte for byte: nothing is decoded to write it. What the target has already is
 * left as it is.
 * @throws StratigraphError where one of them can't be reached; CorruptionError, or "KEY_MISSING" where the target's options don't
 * have the key that the source was encrypted with
 */
export async function moveThread(
  from: TierSaver,
  to: TierSaver,
  threadId: string,
  options: MoveThreadOptions,
): Promise<MovedThread> {
  const done = { checkpoints: 0, writes: 0, diverged: false };
  for (let tries = 1; ; tries += 1) {
    const { revision } = await from.tier.peek({ threadId, namespace: "" });
    const contents = await readThread(from.tier, threadId);
    if (contents.records.length === 0) {
      const { head } = await from.tier.peek({ threadId, namespace: "" });
      return { ...done, differences: head === undefined ? [] : [{ threadId, what: onlyHead }] };
    }
    const there = await thereOf(to.tier, threadId);
    if (isDiverged(contents, there)) return { ...done, diverged: true, differences: [] };
    await copyTags(from.tier, to.tier, threadId);
    const copied = await append(to.tier, contents, there);
    done.checkpoints += copied.checkpoints;
    done.writes += copied.writes;
    const now = await from.tier.peek({ threadId, namespace: "" });
    if (now.revision !== revision && tries < mostTries) continue;
    const told = (what: string): Difference => ({ threadId, what });
    if (now.revision !== revision)
      return { ...done, differences: [told("it was written to while it was copied; repeat the move")] };
    const differences = options.verify ? await verify(to, threadId, contents) : [];
    if (options.deletes === undefined || differences.length > 0) return { ...done, differences };
    if (!(await options.deletes.deleteUnchanged(threadId, revision)))
      differences.push(told("it was written to before it could be deleted; repeat the move"));
    return { ...done, differences };
  }
}

/** What the target has of a thread. */
interface There {
  readonly revision: number;
  readonly records: ReadonlyMap<string, CheckpointRecord>;
  readonly heads: ReadonlyMap<string, string>;
  readonly writes: ReadonlySet<string>;
  readonly blobs: ReadonlySet<BlobHash>;
}

async function thereOf(tier: Tier, threadId: string): Promise<There> {
  const { revision } = await tier.peek({ threadId, namespace: "" });
  const records = new Map<string, CheckpointRecord>();
  const heads = new Map<string, string>();
  const writes = new Set<string>();
  if (revision === 0) return { revision, records, heads, writes, blobs: new Set() };
  for await (const { record, head, writes: batches } of tier.list({ threadId, recordsOnly: true })) {
    records.set(entryKey(record), record);
    if (head !== undefined) heads.set(record.namespace, head);
    for (const batch of batches) writes.add(writeKey(record, batch));
  }
  const blobs = new Set<BlobHash>();
  for (const { hash } of await tier.blobs(threadId)) blobs.add(hash);
  return { revision, records, heads, writes, blobs };
}

function writeKey(
  at: CheckpointRecord | ThreadContents["writes"][number],
  batch: { taskId: string; body: Uint8Array },
) {
  return JSON.stringify([at.namespace, at.checkpointId, batch.taskId, batchDigest(batch)]);
}

/** Whether records of a namespace show that a thread went on: its checkpoints, and the calls that were recorded. */
function isOfThread(namespace: string): boolean {
  return !isReserved(namespace) || isKeptWhole(namespace);
}

/** Whether the target has checkpoints that the source doesn't have, and the other way round. */
function isDiverged({ records }: ThreadContents, there: There): boolean {
  const wanted = new Set(records.map(entryKey));
  const wentOn = [...there.records].some(([key, { namespace }]) => isOfThread(namespace) && !wanted.has(key));
  return wentOn && [...wanted].some((key) => !there.records.has(key));
}

async function append(
  tier: Tier,
  contents: ThreadContents,
  there: There,
): Promise<{ checkpoints: number; writes: number }> {
  const { threadId } = contents.records[0]!;
  const wanted = new Set(contents.records.map(entryKey));
  const wentOn = [...there.records].some(([key, { namespace }]) => isOfThread(namespace) && !wanted.has(key));
  const appender = new Appender(tier, threadId, there);
  const blobs = new Blobs(contents.blobs, there.blobs);
  for (const record of contents.records) {
    if (there.records.has(entryKey(record))) continue;
    const about = { at: record, record, writes: [], writeCount: 0, relies: true };
    await appender.add({ ...about, blobs: blobs.of(record.blobs) });
  }
  const writes = contents.writes.filter((batch) => !there.writes.has(writeKey(batch, batch)));
  for (const batch of writes)
    await appender.add({
      at: batch,
      blobs: blobs.of(batch.blobs),
      writes: [batch],
      writeCount: 1,
      relies: true,
    });
  const heads = contents.heads.flatMap(({ namespace, to }) => {
    const now = there.heads.get(namespace);
    return now === to || wentOn ? [] : [{ namespace, to, expected: now === undefined ? [] : [now] }];
  });
  await appender.end(heads);
  return appender.appended;
}

/** Blobs to copy, each once, with those that it is a patch on. */
class Blobs {
  readonly #blobs: ReadonlyMap<BlobHash, Blob>;
  readonly #done: Set<BlobHash>;

  constructor(blobs: readonly Blob[], there: ReadonlySet<BlobHash>) {
    this.#blobs = new Map(blobs.map((blob) => [blob.hash, blob]));
    this.#done = new Set(there);
  }

  of(hashes: readonly BlobHash[]): Blob[] {
    const found: Blob[] = [];
    for (const hash of hashes) {
      let next = this.#done.has(hash) ? undefined : this.#blobs.get(hash);
      while (next !== undefined) {
        this.#done.add(next.hash);
        found.push(next);
        next = next.base === undefined || this.#done.has(next.base) ? undefined : this.#blobs.get(next.base);
      }
    }
    return found;
  }
}

async function copyTags(from: Tier, to: Tier, threadId: string): Promise<void> {
  if (!tagsThreads(from) || !tagsThreads(to)) return;
  const tags = await from.threadTags(threadId);
  if (tags.length > 0) await to.tagThread(threadId, tags);
}

/** Reads back what was copied: the same records, heads and pending writes, and the same bytes of every value. */
async function verify(to: TierSaver, threadId: string, contents: ThreadContents): Promise<Difference[]> {
  const { tier, coder } = to;
  const left = new Map(contents.records.map((record) => [entryKey(record), record]));
  const writes = new Set(contents.writes.map((batch) => writeKey(batch, batch)));
  const originals = new Map(contents.blobs.map((blob) => [blob.hash, blob]));
  const heads = new Map<string, string | undefined>();
  const equal = new Set<BlobHash>();
  const differences: Difference[] = [];
  const wanted = new Set(left.keys());
  let wentOn = false;
  for await (const { record, blobs, writes: batches, head } of tier.list({ threadId })) {
    heads.set(record.namespace, head);
    for (const batch of batches) writes.delete(writeKey(record, batch));
    const key = entryKey(record);
    const original = left.get(key);
    left.delete(key);
    wentOn ||= !wanted.has(key) && isOfThread(record.namespace);
    if (original === undefined) continue;
    const { namespace, checkpointId } = record;
    if (!isSame(original, record))
      differences.push({ threadId, namespace, checkpointId, what: "its record differs" });
    for (const hash of namedBlobs(record, batches)) {
      if (equal.has(hash)) continue;
      // Bytes that aren't those of the source may encode the same value: then their hash is right.
      if (!isEqual(hash, blobs, originals)) await coder.blobs.payload(hash, blobs);
      equal.add(hash);
    }
    // Decoding one tells whether the target has the key.
    if (head === checkpointId) await coder.decodeBody(record);
  }
  for (const { namespace, checkpointId } of left.values())
    differences.push({ threadId, namespace, checkpointId, what: "it is missing" });
  if (writes.size > 0) differences.push({ threadId, what: `${writes.size} pending writes are missing` });
  for (const { namespace, to: head } of contents.heads)
    if (!wentOn && heads.get(namespace) !== head)
      differences.push({ threadId, namespace, checkpointId: head, what: "it isn't the head" });
  return differences;
}

function isEqual(
  hash: BlobHash,
  blobs: ReadonlyMap<BlobHash, Blob>,
  originals: ReadonlyMap<BlobHash, Blob>,
): boolean {
  for (let next: BlobHash | undefined = hash; next !== undefined;) {
    const [copy, original]: [Blob | undefined, Blob | undefined] = [blobs.get(next), originals.get(next)];
    if (copy === undefined || original === undefined || copy.base !== original.base) return false;
    if (Buffer.compare(copy.bytes, original.bytes) !== 0) return false;
    next = copy.base;
  }
  return true;
}

function isSame(a: CheckpointRecord, b: CheckpointRecord): boolean {
  return (
    a.parentId === b.parentId &&
    a.runId === b.runId &&
    a.lostTo === b.lostTo &&
    a.blobs.join() === b.blobs.join() &&
    a.tags.join() === b.tags.join() &&
    Buffer.compare(a.body, b.body) === 0
  );
}
