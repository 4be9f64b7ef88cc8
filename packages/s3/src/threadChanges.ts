import {
  decideMoves,
  goesOn,
  lostToOf,
  refuseLateWriter,
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
} from "@stratigraph/core";
import type { Head } from "./head.ts";
import type { BlobLine, RecordLine, WritesLine } from "./entries.ts";
import { lineKey, type ThreadView } from "./threadView.ts";

/** A view that may still be changed. */
interface Draft {
  head: Head;
  readonly blobs: Map<BlobHash, BlobLine>;
  readonly records: Map<string, RecordLine>;
  readonly writes: Map<string, readonly WritesLine[]>;
}

/** The next revision of a view, to be changed. */
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
  const line = { namespace, checkpointId, taskId, blobs, order: draft.head.revision, place: body };
  draft.writes.set(lineKey(batch), [...(draft.writes.get(lineKey(batch)) ?? []), line]);
}

/**
 * The thread after an append.
 * @throws CheckpointConflictError, ThreadDeletedError, StaleReadError
 */
export function appended(view: ThreadView, request: AppendRequest): { next: ThreadView; result: Appended } {
  refuseLateWriter(view.head, request, goesOn(request));
  const moves = decideMoves({ heads: view.head.heads, records: view.records }, request);
  const draft = draftOf(view);
  addBlobs(draft, request.blobs);
  for (const { threadId: _thread, body, ...record } of request.records) {
    const lostTo = lostToOf({ heads: draft.head.heads, records: draft.records }, moves, record);
    draft.records.set(lineKey(record), { ...record, lostTo, place: body });
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
    next: { ...draft, etag: view.etag },
    result: { revision: draft.head.revision, heads: outcome },
  };
}

/** The thread with more pending writes. @throws ThreadDeletedError, StaleReadError */
export function withWrites(view: ThreadView, request: AppendWritesRequest): ThreadView {
  refuseLateWriter(view.head, request, request.seen === undefined);
  const draft = draftOf(view);
  addBlobs(draft, request.newBlobs);
  addWrites(draft, request);
  return { ...draft, etag: view.etag };
}

/** The thread without some checkpoints. */
export function without(view: ThreadView, request: RemoveRequest): ThreadView {
  const draft = draftOf(view);
  for (const at of request.checkpoints) {
    draft.records.delete(lineKey(at));
    draft.writes.delete(lineKey(at));
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
  return { ...draft, etag: view.etag };
}

/** The thread with other bytes in the place of some. */
export function withBytes(view: ThreadView, { records, writes, blobs }: ReplaceBytesRequest): ThreadView {
  const draft = draftOf(view);
  for (const { body, ...at } of records) {
    const line = draft.records.get(lineKey(at));
    if (line !== undefined) draft.records.set(lineKey(at), { ...line, place: body });
  }
  for (const { place, body, ...at } of writes) {
    const lines = draft.writes.get(lineKey(at));
    const line = lines?.[place];
    if (line !== undefined) draft.writes.set(lineKey(at), lines!.with(place, { ...line, place: body }));
  }
  for (const { hash, bytes } of blobs) {
    const line = draft.blobs.get(hash);
    if (line !== undefined) draft.blobs.set(hash, { ...line, size: bytes.length, place: bytes });
  }
  return { ...draft, etag: view.etag };
}

/** The thread without its bytes: evicted (heads stay) or deleted (a tombstone stays). */
export function emptied(view: ThreadView, how: "evicted" | "deleted"): ThreadView {
  const { head, blobs, records, writes } = draftOf(view);
  blobs.clear();
  records.clear();
  writes.clear();
  const { revision } = head;
  const bare: Head = { ...head, packs: [], removedAt: revision };
  const next: Head =
    how === "evicted"
      ? { ...bare, evicted: true }
      : { ...bare, evicted: false, heads: new Map(), tags: undefined, deleted: true, deletedAt: revision };
  return { head: next, etag: view.etag, blobs, records, writes };
}

/** The thread with other tags. No revision: nothing of what a writer has read is another. */
export function withTags(view: ThreadView, tags: readonly ThreadTag[]): ThreadView {
  return { ...view, head: { ...view.head, tags: tags.length === 0 ? undefined : tags } };
}
