import {
  checkpointKey,
  namedBlobs,
  batchDigest,
  readThread,
  StratigraphError,
  type Address,
  type Blob,
  type BlobHash,
  type CheckpointRecord,
  type ThreadContents,
  type Tier,
} from "@stratigraph/core";
import { announce, hasCheckpoints, isOvertaken, lifeOf, livesAs, type Announced } from "./life.ts";

/** Decodes a blob and compares its content with the hash that names it. Throws if they differ. */
export type BlobCheck = (hash: BlobHash, blobs: ReadonlyMap<BlobHash, Blob>) => Promise<unknown>;

/** What was copied of a thread to the archive, and at which revision. */
export interface ArchivedCopy {
  readonly revision: number;
  readonly checkpoints: number;
  /** Size of records, blobs and pending writes as stored in the warm tier. */
  readonly bytes: number;
}

/**
 * Copies a thread from the warm tier to the cold one, and reads the copy back to verify it. It deletes nothing in the warm tier, and may
 * be repeated.
 * @returns undefined if the warm tier has no checkpoints of the thread; "overtaken" if somebody else was at the thread: an archiver, or
 * a deletion
 * @throws StratigraphError "CORRUPT" if the copy differs from the original
 */
export async function archiveThread(
  warm: Tier,
  cold: Tier,
  threadId: string,
  check: BlobCheck,
): Promise<ArchivedCopy | "overtaken" | undefined> {
  // An announcement would begin a thread that isn't there.
  if (!(await hasCheckpoints(warm, threadId))) return undefined;
  try {
    const announced = await announce(warm, cold, threadId);
    return announced === undefined ? "overtaken" : await copied(warm, cold, threadId, announced, check);
  } catch (error) {
    if (isOvertaken(error)) return "overtaken";
    throw error;
  }
}

async function copied(
  warm: Tier,
  cold: Tier,
  threadId: string,
  { life, revision, seen }: Announced,
  check: BlobCheck,
): Promise<ArchivedCopy | "overtaken" | undefined> {
  const contents = await readThread(warm, threadId);
  if (contents.records.length === 0) return undefined;
  const archived = new Map<string, number>();
  if (seen > 0) {
    for await (const { record, writes } of cold.list({ threadId, recordsOnly: true }))
      for (const batch of writes) {
        const key = batchKey(record, batch);
        archived.set(key, (archived.get(key) ?? 0) + 1);
      }
  }
  // Skip pending writes that the archive already has, or a restored checkpoint that is archived again would get them twice. Count
  // them, because after a rewind a step may be given the same answer again. Compare them by digest, which doesn't change when one of
  // the two tiers is re-encrypted before the other.
  const writes = contents.writes.filter((batch) => {
    const key = batchKey(batch, batch);
    const times = archived.get(key) ?? 0;
    archived.set(key, times - 1);
    return times <= 0;
  });
  const heads = contents.heads.map((head) => ({ ...head, expected: "any" as const }));
  const request = { threadId, ...contents, writes, heads: [...heads, livesAs(life)], seen } as const;
  const appended = await cold.append({ ...request, onConflict: "refuse" });
  try {
    await verify(cold, threadId, contents, writes, check);
  } catch (error) {
    // Somebody changed the copy, or the thread, while it was read.
    const at = { threadId, namespace: lifeOf };
    const revisions = [(await cold.peek(at)).revision, (await warm.peek(at)).revision];
    if (revisions[0] !== appended.revision || revisions[1] !== revision) return "overtaken";
    throw error;
  }
  return { revision, checkpoints: contents.records.length, bytes: sizeOf(contents) };
}

/** The size of a thread's records, blobs and pending writes, in bytes. */
export function sizeOf({ records, blobs, writes }: ThreadContents): number {
  const bodies = [...records, ...writes].reduce((sum, { body }) => sum + body.length, 0);
  return blobs.reduce((sum, { bytes }) => sum + bytes.length, bodies);
}

/** Reads the copy back and verifies that it has the same records, heads, pending writes and values. @throws StratigraphError "CORRUPT" if not */
async function verify(
  cold: Tier,
  threadId: string,
  contents: ThreadContents,
  brought: ThreadContents["writes"],
  check: BlobCheck,
): Promise<void> {
  const records = new Map(contents.records.map((record) => [checkpointKey(record), record]));
  const copied = new Set(records.keys());
  const values = new CopiedValues(contents.blobs, check);
  const heads = new Map<string, string | undefined>();
  const batches = new Set<string>();
  const bodies = new Set<string>();
  for await (const { record: copy, writes, blobs, head } of cold.list({ threadId })) {
    const key = checkpointKey(copy);
    heads.set(copy.namespace, head);
    for (const batch of writes) {
      batches.add(batchKey(copy, batch));
      bodies.add(bodyKey(copy, batch));
    }
    const record = records.get(key);
    if (record === undefined) continue;
    if (!isSame(record, copy)) throw notArchived(record, "its record differs");
    for (const hash of namedBlobs(record, writes))
      if (!(await values.areThere(hash, blobs))) throw notArchived(record, "a value is missing");
    records.delete(key);
  }
  for (const record of records.values()) throw notArchived(record, "its record is missing");
  for (const batch of contents.writes) {
    // Pending writes without a checkpoint aren't listed, so they can't be verified before it exists.
    if (copied.has(checkpointKey(batch)) && !batches.has(batchKey(batch, batch)))
      throw notArchived(batch, "pending writes are missing");
  }
  for (const batch of brought) {
    if (copied.has(checkpointKey(batch)) && !bodies.has(bodyKey(batch, batch)))
      throw notArchived(batch, "pending writes differ");
  }
  for (const { namespace, to } of contents.heads) {
    if (heads.get(namespace) !== to)
      throw notArchived({ threadId, namespace, checkpointId: to }, "it isn't the head");
  }
}

/** Verifies values in the archive. Only values whose bytes differ from those copied are decoded. */
class CopiedValues {
  readonly #copied: ReadonlyMap<BlobHash, Blob>;
  readonly #check: BlobCheck;
  /** Blobs that were found with all their bases, and whether all of their bytes are equal to those copied. */
  readonly #known = new Map<BlobHash, boolean>();

  constructor(copied: readonly Blob[], check: BlobCheck) {
    this.#copied = new Map(copied.map((blob) => [blob.hash, blob]));
    this.#check = check;
  }

  /** Whether a value is there with all its bases. @throws what the check throws, if the bytes there encode another value */
  async areThere(hash: BlobHash, found: ReadonlyMap<BlobHash, Blob>): Promise<boolean> {
    if (this.#known.has(hash)) return true;
    const chain: Blob[] = [];
    const path = new Set<BlobHash>();
    let next: BlobHash | undefined = hash;
    for (; next !== undefined && !this.#known.has(next); next = chain.at(-1)!.base) {
      const blob = found.get(next);
      if (blob === undefined || path.has(next)) return false;
      path.add(next);
      chain.push(blob);
    }
    let same = next === undefined || this.#known.get(next)!;
    for (const blob of chain.toReversed()) {
      same &&= this.#isCopied(blob);
      // Pruning may have rewritten the blob since it was archived before, so other bytes may encode the same value.
      if (!same) await this.#check(blob.hash, found);
      this.#known.set(blob.hash, same);
    }
    return true;
  }

  #isCopied({ hash, base, bytes }: Blob): boolean {
    const blob = this.#copied.get(hash);
    return blob !== undefined && blob.base === base && Buffer.compare(blob.bytes, bytes) === 0;
  }
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

function batchKey({ namespace, checkpointId }: Address, batch: { taskId: string; body: Uint8Array }): string {
  return JSON.stringify([namespace, checkpointId, batch.taskId, batchDigest(batch)]);
}

/** As {@link batchKey}, and also with the stored bytes. */
function bodyKey(at: Address, batch: { taskId: string; body: Uint8Array }): string {
  return `${batchKey(at, batch)}${Buffer.from(batch.body).toString("base64")}`;
}

function notArchived({ threadId, namespace, checkpointId }: Address, what: string): StratigraphError {
  const where = `Thread ${JSON.stringify(threadId)}, namespace ${JSON.stringify(namespace)}, checkpoint ${checkpointId}`;
  return new StratigraphError(
    "CORRUPT",
    `${where}: read back from the archive, ${what}. The thread stays in the warm tier, whole. If it happens again, the archive loses or changes what is written.`,
    { threadId, namespace, checkpointId },
  );
}
