import { randomUUID } from "node:crypto";
import { EvictedError, StratigraphError, type Tier } from "@stratigraph/core";
import { archiveOwner, deletesUnchanged, idPlaces, markedCopy } from "@stratigraph/core/internal";
import { checkpointKey, reservedNamespaces, type AppendRequest } from "@stratigraph/core/tier";
import { archivedMark } from "./archivedMark.ts";

/**
 * The namespace whose head tells the lives of a thread apart: a thread that was deleted may begin anew under the same id. It is set in
 * the warm tier before anything is copied, so that a deletion knows that there may be a copy; and in the cold tier together with the
 * copy. A life that the cold tier has and the warm tier no longer names is over.
 */
export const lifeOf = reservedNamespaces.life;

/** Ids that were read, by warm tier. They never change. */
const knownOwners = new WeakMap<Tier, Set<string>>();

/** What an archiver may copy, and where. */
export interface Announced {
  readonly life: string;
  /** The thread's revision in the warm tier. Only if the thread is still at it after copying may its checkpoints be dropped. */
  readonly revision: number;
  /**
   * The revision of the cold tier's copy, read while the warm tier still named this life. A deletion comes after that, and deletes the cold
   * tier's copy at a later revision. So the cold tier then refuses appends with this revision.
   */
  readonly seen: number;
}

/**
 * Announces in the warm tier that a thread is about to be archived, and deletes what the cold tier has of lives that are over. Until the
 * thread is marked as archived, nobody relies on its copy. So each attempt has a life of its own: an archiver doesn't complete the copy
 * that a killed one left half-way, because it may know less of what was removed.
 * @returns undefined if somebody else changed the thread or its copy meanwhile
 * @throws StratigraphError "CORRUPT" if the archive has something else under the thread's id, and nobody deleted it; EvictedError if the
 * archive was set back, or has nothing of an archived thread: what is missing there may be restored, over whatever is archived now, or be in
 * another archive
 */
export async function announce(warm: Tier, cold: Tier, threadId: string): Promise<Announced | undefined> {
  // Ask the cold tier first: see `seen`.
  let copy = await cold.peek({ threadId, namespace: lifeOf });
  const mark = await warm.peek({ threadId, namespace: archivedMark });
  const now = await warm.peek({ threadId, namespace: lifeOf });
  if (now.revision !== mark.revision) return undefined;
  const isMarked = mark.head !== undefined;
  let goesOn = isMarked;
  const isKnown = isMarked && copy.head !== undefined && copy.head === now.head;
  if (isKnown && copy.revision < markedCopy(mark.head)) {
    copy = await cold.peek({ threadId, namespace: lifeOf });
    if (copy.head !== now.head) return undefined;
    if (copy.revision < markedCopy(mark.head)) throw await evictedFrom(warm, cold, threadId);
  }
  if (!isKnown && (copy.head !== undefined || (await hasCheckpoints(cold, threadId)))) {
    const isAsked = !isMarked && copy.head !== now.head;
    // What an archived thread relies on isn't left of another life.
    const isLeft = isAsked
      ? await wasDeleted(warm, threadId, copy.head)
      : !isMarked && copy.head !== undefined;
    goesOn = !isLeft && (await whoseCopy(warm, cold, threadId, now.head)).whose === "own";
    if (!isLeft && !goesOn) throw foreign(warm, cold, threadId);
    // The look whether it was deleted has announced a life, so the thread changed since it was read.
    if (goesOn && isAsked && now.head === undefined) return await announce(warm, cold, threadId);
    if (isLeft && !(await deleteCopy(cold, threadId, copy.revision))) return undefined;
    if (isLeft) copy = await cold.peek({ threadId, namespace: lifeOf });
  } else if (isMarked && !isKnown) {
    // What was deleted there after its time leaves a later revision.
    const { revision } = await cold.peek({ threadId, namespace: lifeOf });
    if (revision < Math.max(1, markedCopy(mark.head))) throw await evictedFrom(warm, cold, threadId);
  }
  // Older versions archived threads without a life.
  const life = goesOn ? (copy.head ?? now.head ?? (await newLife(warm))) : await newLife(warm);
  const revision = life === now.head ? now.revision : await begin(warm, threadId, life, now);
  return revision === undefined ? undefined : { life, revision, seen: copy.revision };
}

/** Whether a tier has checkpoints of a thread. */
async function hasCheckpoints(tier: Tier, threadId: string): Promise<boolean> {
  for await (const _ of tier.list({ threadId, recordsOnly: true, limit: 1 })) return true;
  return false;
}

/**
 * Whether a thread was deleted before, perhaps with the life that the archive has. Tries an append of a writer that has seen nothing, which
 * is refused after a deletion. If it is accepted, it only announces that there may be a copy.
 * @param copy the life that the archive has
 */
export async function wasDeleted(warm: Tier, threadId: string, copy: string | undefined): Promise<boolean> {
  try {
    // Without the id of the warm tier: it may have to be compared with a life that was given before that was set back.
    await begin(warm, threadId, randomUUID(), { revision: 0 });
  } catch (error) {
    if (StratigraphError.is(error, "THREAD_DELETED")) return await mayHaveGiven(warm, copy);
    if (!StratigraphError.is(error, "CHECKPOINT_CONFLICT")) throw error;
  }
  return false;
}

/**
 * Whether two tiers have a checkpoint of a thread in common. If so, both have the same life of it, and one of them was restored from a
 * backup that is too old to show that.
 */
async function sharesCheckpoint(warm: Tier, cold: Tier, threadId: string): Promise<boolean> {
  const archived = new Set<string>();
  for await (const { record } of cold.list({ threadId, recordsOnly: true }))
    archived.add(checkpointKey(record));
  const { head: checkpointId } = await warm.peek({ threadId, namespace: "" });
  if (checkpointId !== undefined && archived.has(checkpointKey({ namespace: "", checkpointId }))) return true;
  for await (const { record } of warm.list({ threadId, recordsOnly: true }))
    if (
      archived.has(checkpointKey(record)) ||
      archived.has(checkpointKey({ ...record, checkpointId: record.parentId ?? "" }))
    )
      return true;
  return false;
}

async function newLife(warm: Tier): Promise<string> {
  const [place] = await idPlaces(warm);
  // Each life begins with the id of the warm tier that gave it, and a slash.
  if (place === undefined) return randomUUID();
  return `${await place.claimKeyCheck(archiveOwner, randomUUID().replaceAll("-", ""))}/${randomUUID()}`;
}

/** The id of the warm tier that gave a life. Undefined if an older version gave it. */
function giverOf(life: string | undefined): string | undefined {
  const end = life?.indexOf("/") ?? -1;
  return end < 0 ? undefined : life!.slice(0, end);
}

/** Whether the warm tier gave a life that the archive has; of a life that names no giver: whether it may have. */
export async function mayHaveGiven(warm: Tier, life: string | undefined): Promise<boolean> {
  return (await hasGiven(warm, life)) !== false;
}

/** Whether the warm tier gave a life that the archive has. Undefined if that can't be told. */
export async function hasGiven(warm: Tier, life: string | undefined): Promise<boolean | undefined> {
  const giver = giverOf(life);
  if (giver === undefined) return undefined;
  const known = knownOwners.get(warm) ?? new Set();
  if (known.has(giver)) return true;
  const places = await idPlaces(warm);
  for (const place of places) {
    const id = (await place.keyChecks([archiveOwner])).get(archiveOwner);
    if (id !== undefined) known.add(id);
  }
  knownOwners.set(warm, known);
  return places.length === 0 ? undefined : known.has(giver);
}

/** What the archive has under a thread's id. */
export interface Copy {
  /** Whether it is of the life that the warm tier has. */
  readonly whose: "own" | "other" | "none";
  /** Its life. */
  readonly life: string | undefined;
  readonly revision: number;
}

/**
 * Compares what the archive has under a thread's id with what the warm tier has. A copy without a life is of an older version, or was moved
 * there. It and one that was archived before the warm tier was set back are known by a checkpoint that both have, or go on from.
 * @param life the thread's life in the warm tier
 */
export async function whoseCopy(
  warm: Tier,
  cold: Tier,
  threadId: string,
  life: string | undefined,
): Promise<Copy> {
  const { head: copy, revision } = await cold.peek({ threadId, namespace: lifeOf });
  if (copy !== undefined && copy === life) return { whose: "own", life: copy, revision };
  if (copy === undefined && !(await hasCheckpoints(cold, threadId)))
    return { whose: "none", life: copy, revision };
  const [giver, other] = [giverOf(life), giverOf(copy)];
  const differ = giver !== undefined && other !== undefined && giver !== other;
  const isOwn = !differ && (await sharesCheckpoint(warm, cold, threadId));
  return { whose: isOwn ? "own" : "other", life: copy, revision };
}

/**
 * Throws if what the archive has under a thread's id is of another thread, so that a deletion of this one mustn't delete it. Nothing is
 * refused that was deleted here before.
 * @param now the thread's life and mark in the warm tier
 * @returns what the archive has
 * @throws StratigraphError "CORRUPT"
 */
export async function refuseForeign(
  warm: Tier,
  cold: Tier,
  threadId: string,
  now: { readonly life: string | undefined; readonly isArchived: boolean },
): Promise<Copy> {
  const copy = await whoseCopy(warm, cold, threadId, now.life);
  if (copy.whose === "other" && (now.isArchived || !(await wasDeleted(warm, threadId, copy.life))))
    throw foreign(warm, cold, threadId);
  return copy;
}

/** The move of the life's head in the cold tier. It is refused if the copy there has another life. */
export function livesAs(life: string): AppendRequest["heads"][number] {
  return { namespace: lifeOf, to: life, expected: [] };
}

/**
 * Deletes a copy in the cold tier, if it is still at this revision. A tier that can't compare deletes it in any case.
 * @returns whether it is deleted
 */
export async function deleteCopy(cold: Tier, threadId: string, revision: number): Promise<boolean> {
  if (deletesUnchanged(cold)) return await cold.deleteUnchanged(threadId, revision);
  await cold.deleteThread(threadId);
  return true;
}

/** Whether an error means that somebody else changed the thread: an archiver or a deletion. */
export function isOvertaken(error: unknown): boolean {
  return StratigraphError.is(error, "CHECKPOINT_CONFLICT") || StratigraphError.is(error, "THREAD_DELETED");
}

async function begin(
  warm: Tier,
  threadId: string,
  life: string,
  { head, revision }: { readonly head?: string | undefined; readonly revision: number },
): Promise<number | undefined> {
  const appended = await warm.append({
    threadId,
    records: [],
    blobs: [],
    heads: [{ namespace: lifeOf, to: life, expected: head === undefined ? [] : [head] }],
    onConflict: "refuse",
    seen: revision,
  });
  return appended.revision === revision + 1 ? appended.revision : undefined;
}

/** The error for an archived thread whose copy isn't in the archive: that was set back, or is the archive of another database. */
export async function evictedFrom(warm: Tier, cold: Tier, threadId: string): Promise<EvictedError> {
  const { head: checkpointId = "(none)" } = await warm.peek({ threadId, namespace: "" });
  return new EvictedError(cold.name, { threadId, namespace: "", checkpointId }, warm.name);
}

function foreign(warm: Tier, cold: Tier, threadId: string): StratigraphError {
  return new StratigraphError(
    "CORRUPT",
    `Thread ${JSON.stringify(threadId)}: the archive (tier ${cold.name}) has checkpoints under this id that tier ${warm.name}, which owns the thread, ` +
      `neither has nor deleted. Is it the archive of another database, or was the database lost and begun anew? Nothing was changed. Name the right ` +
      `archive; or, if nobody needs what is there, delete the thread through a saver of that tier alone: stratigraph delete ${JSON.stringify(threadId)} --url URL_OF_THE_ARCHIVE.`,
    { tier: cold.name, threadId },
  );
}
