import { conflictOf, neededBlobs } from "./appendRules.ts";
import { headlessError, StaleReadError, ThreadDeletedError } from "./errors.ts";
import { checkpointKey } from "./keys.ts";
import { isRootedMark, isUnderWay } from "./copyMark.ts";
import { reservedNamespaces } from "./reservedNamespaces.ts";
import type { AppendRequest, AppendWritesRequest, BlobHash, CheckpointRecord, HeadMove } from "./tier.ts";

/** What a tier remembers of a thread's changes, deletions and removals. */
export interface ThreadPast {
  /** 0 for a thread that isn't there. */
  readonly revision: number;
  /** Revision of the last deletion; 0 for none. */
  readonly deletedAt: number;
  /** Whether there has been no checkpoint since the last deletion. */
  readonly deleted: boolean;
  /** Revision of the last removal of blobs; 0 for none. */
  readonly removedAt: number;
}

/** A thread's heads and records, as far as the rules for moving a head need them. */
export interface HeadsAndRecords {
  /** Checkpoint ids by namespace. */
  readonly heads: ReadonlyMap<string, string>;
  /** By {@link checkpointKey}. */
  readonly records: ReadonlyMap<string, Pick<CheckpointRecord, "namespace" | "parentId" | "lostTo">>;
}

/**
 * Whether the head of a thread's root namespace was lost: see `ThreadState.headless`. A thread without any head hasn't begun, nor has
 * a copy in parts that is under way, though calls or events may be there already. The checkpoints of an archived thread may all be elsewhere; its mark says whether it had a head.
 */
export function isHeadless({ heads, records }: HeadsAndRecords): boolean {
  if (heads.size === 0 || heads.has("") || isUnderWay(heads.get(reservedNamespaces.copy))) return false;
  if (isRootedMark(heads.get(reservedNamespaces.archived))) return true;
  for (const { namespace, lostTo } of records.values())
    if (namespace === "" && lostTo === undefined) return true;
  return false;
}

/** Whether an append begins a thread: it brings a first root checkpoint and makes it the head. Imports and copies don't. */
export function beginsThread({ records, heads }: AppendRequest): boolean {
  return heads.some(
    ({ namespace, to, expected }) =>
      namespace === "" &&
      expected !== "any" &&
      records.some(
        ({ namespace: ns, checkpointId, parentId }) =>
          ns === "" && checkpointId === to && parentId === undefined,
      ),
  );
}

/** What becomes of one head move. */
export interface DecidedMove {
  readonly move: HeadMove;
  readonly moved: boolean;
}

/**
 * Refuses a writer whose last read is too old, or is of a later revision than the present one: then the storage was restored to an older
 * state. A write that relies on blobs is refused if one of them isn't there: once others have written as much again, revisions don't show
 * the restore.
 * @param blobs those that are stored
 * @param continues whether the write continues something that the writer never read
 * @throws ThreadDeletedError, StaleReadError
 */
export function refuseLateWriter(
  { revision, deletedAt, deleted, removedAt }: ThreadPast,
  blobs: { has(hash: BlobHash): boolean },
  request: AppendRequest | AppendWritesRequest,
  continues: boolean,
): void {
  const { threadId, seen, relies } = request;
  if (seen !== undefined && seen < deletedAt) throw new ThreadDeletedError(threadId);
  if (deleted && continues) throw new ThreadDeletedError(threadId);
  if (seen !== undefined && seen > revision) throw new StaleReadError(threadId, revision);
  if (relies !== true) return;
  if ((seen ?? 0) < removedAt) throw new StaleReadError(threadId);
  for (const hash of neededBlobs(request)) if (!blobs.has(hash)) throw new StaleReadError(threadId);
}

/**
 * Refuses records whose values are rebuilt from parents that aren't there any more.
 * @throws StaleReadError
 */
export function refuseLostParents(
  { records: stored }: Pick<HeadsAndRecords, "records">,
  { threadId, needsParents, records }: AppendRequest,
): void {
  if (needsParents !== true) return;
  const carried = new Set(records.map(checkpointKey));
  for (const record of records) {
    const { namespace, parentId } = record;
    if (parentId === undefined || stored.has(checkpointKey(record))) continue;
    const parent = checkpointKey({ namespace, checkpointId: parentId });
    if (!carried.has(parent) && !stored.has(parent)) throw new StaleReadError(threadId);
  }
}

/**
 * Decides which heads of an append move.
 * @throws CheckpointConflictError if one may not move, under `onConflict: "refuse"`; StratigraphError "CORRUPT" if the root's head is lost,
 * and the append would begin the thread anew
 */
export function decideMoves(thread: HeadsAndRecords, request: AppendRequest): DecidedMove[] {
  if (beginsThread(request) && isHeadless(thread))
    throw headlessError({ threadId: request.threadId, namespace: "" });
  const moves = request.heads.map((move) => ({ move, moved: mayMove(thread.heads, move) }));
  if (request.onConflict === "branch") return moves;
  const lost = moves.find(
    ({ move, moved }) => !moved && !isStoredOrOvertaken(thread, move.namespace, move.to),
  );
  if (lost !== undefined) throw conflictOf(request, lost.move, thread.heads.get(lost.move.namespace)!);
  return moves;
}

/** The `lostTo` of a record that is stored by an append whose head moves were decided. */
export function lostToOf(
  thread: HeadsAndRecords,
  moves: readonly DecidedMove[],
  record: Pick<CheckpointRecord, "namespace" | "checkpointId" | "lostTo">,
): string | undefined {
  const decided = moves.find(({ move }) => move.namespace === record.namespace);
  if (decided === undefined || decided.moved) return record.lostTo;
  const stored = thread.records.get(checkpointKey(record));
  if (stored !== undefined) return stored.lostTo;
  if (isStoredOrOvertaken(thread, record.namespace, record.checkpointId)) return record.lostTo;
  return thread.heads.get(record.namespace);
}

/** Whether a head may move: from none, from itself (a repetition), or from a head that the writer expects. */
function mayMove(heads: ReadonlyMap<string, string>, { namespace, to, expected }: HeadMove): boolean {
  const head = heads.get(namespace);
  return head === undefined || head === to || expected === "any" || expected.includes(head);
}

/**
 * Whether a checkpoint that doesn't become the head still is no side branch: it is stored already, or the head was made from it and
 * overtook it (LangGraph's "exit" durability puts two checkpoints at once).
 */
function isStoredOrOvertaken(
  { heads, records }: HeadsAndRecords,
  namespace: string,
  checkpointId: string,
): boolean {
  if (records.has(checkpointKey({ namespace, checkpointId }))) return true;
  const head = heads.get(namespace);
  return (
    head !== undefined &&
    records.get(checkpointKey({ namespace, checkpointId: head }))?.parentId === checkpointId
  );
}
