import { blobClosure, namedBlobs, type BlobHash } from "@stratigraph/core";
import type { Head } from "./head.ts";
import type { BlobLine, Lines, Place, RecordLine, WritesLine } from "./entries.ts";

/** A thread as one revision of its head has it. Never changed; what changes makes another. */
export interface ThreadView {
  readonly head: Head;
  /** Of the head object; absent where there is none. */
  readonly etag: string | undefined;
  readonly blobs: ReadonlyMap<BlobHash, BlobLine>;
  /** By {@link lineKey}. */
  readonly records: ReadonlyMap<string, RecordLine>;
  readonly writes: ReadonlyMap<string, readonly WritesLine[]>;
}

/** A thread nobody wrote. */
export function emptyHead(threadId: string): Head {
  return {
    threadId,
    revision: 0,
    writers: [],
    deletedAt: 0,
    deleted: false,
    removedAt: 0,
    evicted: false,
    heads: new Map(),
    packs: [],
  };
}

/** Names a checkpoint within its thread. */
export function lineKey({ namespace, checkpointId }: { namespace: string; checkpointId: string }): string {
  return JSON.stringify([namespace, checkpointId]);
}

/** @param parts oldest first: what a later one holds replaces what an earlier one does */
export function viewOf(head: Head, etag: string | undefined, parts: readonly Lines[]): ThreadView {
  const blobs = new Map<BlobHash, BlobLine>();
  const records = new Map<string, RecordLine>();
  const writes = new Map<string, WritesLine[]>();
  for (const part of parts) {
    for (const line of part.blobs) blobs.set(line.hash, line);
    for (const line of part.records) records.set(lineKey(line), line);
    for (const line of part.writes) {
      const found = writes.get(lineKey(line));
      if (found === undefined) writes.set(lineKey(line), [line]);
      else found.push(line);
    }
  }
  return { head, etag, blobs, records, writes };
}

/** Items of a view whose places are chosen. */
export function linesWhere(view: ThreadView, chosen: (place: Place) => boolean): Lines {
  return {
    blobs: [...view.blobs.values()].filter(({ place }) => chosen(place)),
    records: [...view.records.values()].filter(({ place }) => chosen(place)),
    writes: [...view.writes.values()].flatMap((lines) => lines.filter(({ place }) => chosen(place))),
  };
}

/** The view with items at new places: `to` are the items of `from`, in the same order. */
export function moved(view: ThreadView, from: Lines, to: Lines): ThreadView {
  const blobs = new Map(view.blobs);
  for (const line of to.blobs) blobs.set(line.hash, line);
  const records = new Map(view.records);
  for (const line of to.records) records.set(lineKey(line), line);
  const places = new Map(from.writes.map((line, position) => [line, to.writes[position]!]));
  const writes = new Map(
    [...view.writes].map(([key, lines]) => [key, lines.map((line) => places.get(line) ?? line)]),
  );
  return { ...view, blobs, records, writes };
}

/** Names of a checkpoint's blobs with all bases that they are patches on; undefined where one is missing. */
export function closureOf(view: ThreadView, record: RecordLine): BlobHash[] | undefined {
  const closure = blobClosure(namedBlobs(record, view.writes.get(lineKey(record)) ?? []), view.blobs);
  return closure === undefined ? undefined : [...closure.keys()];
}

/** Names of a checkpoint's blobs with all they stand on, as far as they are there and named. */
export function neededBy(view: ThreadView, record: RecordLine): BlobHash[] {
  const writes = view.writes.get(lineKey(record)) ?? [];
  const needed = namedBlobs(record, writes);
  for (const hash of needed) {
    const base = view.blobs.get(hash)?.base;
    if (base !== undefined) needed.add(base);
  }
  return [...needed];
}
