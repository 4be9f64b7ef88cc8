import { StratigraphError, type Tier } from "@stratigraph/core";
import {
  batchKey,
  comesInParts,
  CopiedThread,
  isUnderWay,
  PartMaker,
  readInParts,
  straysOf,
  trace,
  type BlobCheck,
  type PartContents,
  type ThreadReading,
  headlessError,
} from "@stratigraph/core/internal";
import { reservedNamespaces, type Address, type AppendRequest, type HeadMove } from "@stratigraph/core/tier";
import { announce, isOvertaken, lifeOf, livesAs, type Announced } from "./life.ts";

/** What was copied of a thread to the archive, and at which revision. */
export interface ArchivedCopy {
  readonly revision: number;
  /** The revision of the copy in the archive. */
  readonly copiedAt: number;
  readonly checkpoints: number;
  /** Size of records, blobs and pending writes as stored in the warm tier. */
  readonly bytes: number;
}

/**
 * Copies a thread from the warm tier to the cold one, and reads the copy back to verify it. A large thread is copied and read back in
 * parts. It deletes nothing in the warm tier, and may be repeated.
 * @returns undefined if the warm tier has no checkpoints of the thread; "overtaken" if somebody else is changing the thread: an archiver, a
 * deletion, a pruning, or a run that has stored pending writes but not yet their checkpoint
 * @throws StratigraphError "CORRUPT" if the copy differs from the original, or the thread's head is lost
 */
export async function archiveThread(
  warm: Tier,
  cold: Tier,
  threadId: string,
  check: BlobCheck,
): Promise<ArchivedCopy | "overtaken" | undefined> {
  // If the thread doesn't exist, an announcement would create it.
  if (!(await isThread(warm, threadId))) return undefined;
  try {
    const announced = await announce(warm, cold, threadId);
    // Pending writes that come later change the revision, so that nothing is dropped.
    if (announced === undefined || (await isBetween(warm, threadId))) return "overtaken";
    return await copied(warm, cold, threadId, announced, check);
  } catch (error) {
    if (isOvertaken(error)) return "overtaken";
    throw error;
  }
}

/**
 * Whether a tier has checkpoints of a thread, except an unfinished copy of another thread, which is in progress or was left by a killed
 * process.
 */
async function isThread(warm: Tier, threadId: string): Promise<boolean> {
  for await (const { head } of warm.list({ threadId, recordsOnly: true, limit: 1 }))
    return (
      head !== undefined ||
      !isUnderWay((await warm.peek({ threadId, namespace: reservedNamespaces.copy })).head)
    );
  return false;
}

/** Whether a tier has pending writes of checkpoints that it doesn't have. They would be dropped without having been copied. */
async function isBetween(warm: Tier, threadId: string): Promise<boolean> {
  const [stray] = await straysOf(warm, threadId);
  if (stray !== undefined)
    trace({ type: "maintenance", what: "not archived", threadId, data: { pendingWritesOf: stray } });
  return stray !== undefined;
}

async function copied(
  warm: Tier,
  cold: Tier,
  threadId: string,
  { life, revision, seen }: Announced,
  check: BlobCheck,
): Promise<ArchivedCopy | "overtaken" | undefined> {
  const reading = await readInParts(warm, threadId);
  if (reading === undefined) return undefined;
  const root = { threadId, namespace: "" };
  // In the archive it would look like a thread that has no root.
  if (!reading.heads.has("") && (await warm.peek(root)).headless === true) throw headlessError(root);
  const isNew = await writesThere(cold, threadId, seen);
  const copy = new CopiedThread(check);
  const maker = new PartMaker(threadId);
  const ofLife = reading.isSmall ? [livesAs(life)] : [livesAs(life), comesInParts(life)];
  let copiedAt = 0;
  try {
    for await (const part of reading.parts()) {
      const contents = maker.of(part);
      const writes = contents.writes.filter(isNew);
      copy.add(part, writes);
      // Nobody considers a copy complete before it has the heads, which come with the last part.
      const heads = part.isLast ? [...headsOf(reading), ...ofLife] : ofLife;
      const request: AppendRequest = { threadId, ...contents, writes, heads, seen, onConflict: "refuse" };
      copiedAt = (await cold.append(request)).revision;
    }
  } catch (error) {
    // Somebody removed checkpoints from the thread, or from the parts that were already copied.
    if (!reading.isSmall && StratigraphError.is(error, "STALE_READ")) return "overtaken";
    throw error;
  }
  try {
    await verify(cold, threadId, reading, copy);
  } catch (error) {
    // Somebody changed the copy, or the thread, while it was read.
    const at = { threadId, namespace: lifeOf };
    const revisions = [(await cold.peek(at)).revision, (await warm.peek(at)).revision];
    if (revisions[0] !== copiedAt || revisions[1] !== revision) return "overtaken";
    throw error;
  }
  return { revision, copiedAt, checkpoints: reading.keys.size, bytes: reading.bytes };
}

function headsOf({ heads }: ThreadReading): HeadMove[] {
  return [...heads].map(([namespace, to]) => ({ namespace, to, expected: "any" }));
}

/**
 * Returns a function that says whether the archive lacks a batch of pending writes. Without it, a restored checkpoint that is archived
 * again would get its writes twice. Equal batches are counted, because after a rewind a step may be given the same answer again. Batches
 * are compared by digest, which doesn't change when one of the two tiers is re-encrypted before the other.
 */
async function writesThere(
  cold: Tier,
  threadId: string,
  seen: number,
): Promise<(batch: PartContents["writes"][number]) => boolean> {
  const archived = new Map<string, number>();
  if (seen > 0) {
    for await (const { record, writes } of cold.list({ threadId, recordsOnly: true }))
      for (const batch of writes) {
        const key = batchKey(record, batch);
        archived.set(key, (archived.get(key) ?? 0) + 1);
      }
  }
  return (batch) => {
    const key = batchKey(batch, batch);
    const times = archived.get(key) ?? 0;
    archived.set(key, times - 1);
    return times <= 0;
  };
}

/** Reads the copy back and verifies that it has the same records, heads, pending writes and values. @throws StratigraphError "CORRUPT" if not */
async function verify(
  cold: Tier,
  threadId: string,
  { heads, isSmall }: ThreadReading,
  copied: CopiedThread,
): Promise<void> {
  const copy = await readInParts(cold, threadId, !isSmall);
  for await (const { checkpoints } of copy?.parts() ?? [])
    for (const listed of checkpoints) {
      const what = await copied.compare(listed);
      if (what !== undefined) throw notArchived(listed.record, what);
    }
  for (const { at, what } of copied.missing()) throw notArchived(at, what);
  for (const [namespace, checkpointId] of heads) {
    if (copy?.heads.get(namespace) !== checkpointId)
      throw notArchived({ threadId, namespace, checkpointId }, "it isn't the head");
  }
}

function notArchived({ threadId, namespace, checkpointId }: Address, what: string): StratigraphError {
  const where = `Thread ${JSON.stringify(threadId)}, namespace ${JSON.stringify(namespace)}, checkpoint ${checkpointId}`;
  return new StratigraphError(
    "CORRUPT",
    `${where}: read back from the archive, ${what}. The thread stays in the warm tier, whole. If it happens again, the archive loses or changes what is written.`,
    { threadId, namespace, checkpointId },
  );
}
