import {
  checkpointKey,
  decideMoves,
  goesOn,
  lostToOf,
  refuseLateWriter,
  refuseLostParents,
  type Address,
  type Appended,
  type AppendRequest,
  type AppendWritesRequest,
  type Blob,
  type BlobHash,
  type RemoveRequest,
  type ReplaceBytesRequest,
  type ThreadTag,
  type WriteBatch,
} from "@stratigraph/core/tier";
import type { Head } from "./head.ts";
import type { BlobEntry, RecordEntry, WritesEntry } from "./entries.ts";
import { statusIn, withStanding } from "./standing.ts";
import type { ThreadView } from "./threadView.ts";

/** A view that can be modified. */
interface Draft {
  head: Head;
  readonly blobs: Map<BlobHash, BlobEntry>;
  readonly records: Map<string, RecordEntry>;
  readonly writes: Map<string, readonly WritesEntry[]>;
}

/** A copy of a view with the next revision, to be modified. */
function draftOf(view: ThreadView): Draft {
  return {
    head: { ...view.head, revision: view.head.revision + 1 },
    blobs: new Map(view.blobs),
    records: new Map(view.records),
    writes: new Map(view.writes),
  };
}

function addBlobs(draft: Draft, blobs: readonly Blob[]): void {
  for (const { hash, base, bytes } of blobs) {
    if (!draft.blobs.has(hash)) draft.blobs.set(hash, { hash, base, size: bytes.length, place: bytes });
  }
}

function addWrites(draft: Draft, batch: Address & WriteBatch): void {
  const { namespace, checkpointId, taskId, blobs, body } = batch;
  const entry = { namespace, checkpointId, taskId, blobs, order: draft.head.revision, place: body };
  draft.writes.set(checkpointKey(batch), [...(draft.writes.get(checkpointKey(batch)) ?? []), entry]);
}

/**
 * The thread after an append.
 * @throws CheckpointConflictError, ThreadDeletedError, StaleReadError
 */
export function appended(view: ThreadView, request: AppendRequest): { next: ThreadView; result: Appended } {
  refuseLateWriter(view.head, view.blobs, request, goesOn(request));
  refuseLostParents(view, request);
  const moves = decideMoves({ heads: view.head.heads, records: view.records }, request);
  const draft = draftOf(view);
  addBlobs(draft, request.blobs);
  for (const { threadId: _thread, body, ...record } of request.records) {
    const lostTo = lostToOf({ heads: draft.head.heads, records: draft.records }, moves, record);
    draft.records.set(checkpointKey(record), { ...record, lostTo, place: body });
  }
  for (const batch of request.writes ?? []) addWrites(draft, batch);
  const now = new Map(view.head.heads);
  for (const { move, moved } of moves) if (moved) now.set(move.namespace, move.to);
  draft.head = { ...draft.head, heads: now };
  if (moves.length > 0) draft.head = { ...draft.head, deleted: false, evicted: false };
  const outcome = moves.map(({ move: { namespace }, moved }) => ({
    namespace,
    head: now.get(namespace)!,
    moved,
  }));
  return {
    next: withStanding(view, { ...draft, etag: view.etag }),
    result: { revision: draft.head.revision, heads: outcome },
  };
}

/** The thread with more pending writes. @throws ThreadDeletedError, StaleReadError */
export function withWrites(view: ThreadView, request: AppendWritesRequest): ThreadView {
  refuseLateWriter(view.head, view.blobs, request, request.seen === undefined);
  const draft = draftOf(view);
  addBlobs(draft, request.newBlobs);
  addWrites(draft, request);
  return withStanding(view, { ...draft, etag: view.etag }, request);
}

/** The thread without some checkpoints. */
export function without(view: ThreadView, request: RemoveRequest): ThreadView {
  const draft = draftOf(view);
  for (const at of request.checkpoints) {
    draft.records.delete(checkpointKey(at));
    draft.writes.delete(checkpointKey(at));
  }
  for (const hash of request.dropBlobs) draft.blobs.delete(hash);
  for (const { hash, base, bytes } of request.replaceBlobs)
    draft.blobs.set(hash, { hash, base, size: bytes.length, place: bytes });
  const heads = new Map(view.head.heads);
  for (const { namespace, to } of request.heads) {
    if (to === undefined) heads.delete(namespace);
    else heads.set(namespace, to);
  }
  draft.head = { ...draft.head, heads, removedAt: draft.head.revision };
  return withStanding(view, { ...draft, etag: view.etag });
}

/** The thread with some bytes replaced. */
export function withBytes(view: ThreadView, { records, writes, blobs }: ReplaceBytesRequest): ThreadView {
  const draft = draftOf(view);
  for (const { body, ...at } of records) {
    const entry = draft.records.get(checkpointKey(at));
    if (entry !== undefined) draft.records.set(checkpointKey(at), { ...entry, place: body });
  }
  for (const { place, body, ...at } of writes) {
    const entries = draft.writes.get(checkpointKey(at));
    const entry = entries?.[place];
    if (entry !== undefined)
      draft.writes.set(checkpointKey(at), entries!.with(place, { ...entry, place: body }));
  }
  for (const { hash, bytes } of blobs) {
    const entry = draft.blobs.get(hash);
    if (entry !== undefined) draft.blobs.set(hash, { ...entry, size: bytes.length, place: bytes });
  }
  return withStanding(view, { ...draft, etag: view.etag });
}

/** The thread without its contents. An evicted thread keeps its heads; of a deleted one only a tombstone is left. */
export function emptied(view: ThreadView, how: "evicted" | "deleted"): ThreadView {
  const { head, blobs, records, writes } = draftOf(view);
  blobs.clear();
  records.clear();
  writes.clear();
  const { revision } = head;
  const status = how === "evicted" ? statusIn(view.head) : undefined;
  const standing = status === undefined ? undefined : { revision, status, outcomes: [] };
  const bare: Head = { ...head, packs: [], removedAt: revision, standing };
  const next: Head =
    how === "evicted"
      ? { ...bare, evicted: true }
      : { ...bare, evicted: false, heads: new Map(), tags: undefined, deleted: true, deletedAt: revision };
  return { head: next, etag: view.etag, blobs, records, writes };
}

/** The thread with other tags. Its revision doesn't change, because no writer relies on tags. */
export function withTags(view: ThreadView, tags: readonly ThreadTag[]): ThreadView {
  return { ...view, head: { ...view.head, tags: tags.length === 0 ? undefined : tags } };
}
