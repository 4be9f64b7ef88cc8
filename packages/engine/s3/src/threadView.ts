import { blobClosure, checkpointKey, namedBlobs, type BlobHash } from "@stratigraph/core/tier";
import type { Head } from "./head.ts";
import type { BlobEntry, Entries, Place, RecordEntry, WritesEntry } from "./entries.ts";

/** A thread at one revision of its head. A view is immutable: a change makes another view. */
export interface ThreadView {
  readonly head: Head;
  /** The etag of the head object; undefined if there is none. */
  readonly etag: string | undefined;
  readonly blobs: ReadonlyMap<BlobHash, BlobEntry>;
  /** By {@link checkpointKey}. */
  readonly records: ReadonlyMap<string, RecordEntry>;
  readonly writes: ReadonlyMap<string, readonly WritesEntry[]>;
}

/** The head of a thread that nobody has written to. */
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

/** @param parts oldest first; entries of later parts replace those of earlier ones */
export function viewOf(head: Head, etag: string | undefined, parts: readonly Entries[]): ThreadView {
  const blobs = new Map<BlobHash, BlobEntry>();
  const records = new Map<string, RecordEntry>();
  const writes = new Map<string, WritesEntry[]>();
  for (const part of parts) {
    for (const entry of part.blobs) blobs.set(entry.hash, entry);
    for (const entry of part.records) records.set(checkpointKey(entry), entry);
    for (const entry of part.writes) {
      const found = writes.get(checkpointKey(entry));
      if (found === undefined) writes.set(checkpointKey(entry), [entry]);
      else found.push(entry);
    }
  }
  return { head, etag, blobs, records, writes };
}

/** The entries of a view whose places satisfy `chosen`. */
export function entriesWhere(view: ThreadView, chosen: (place: Place) => boolean): Entries {
  return {
    blobs: [...view.blobs.values()].filter(({ place }) => chosen(place)),
    records: [...view.records.values()].filter(({ place }) => chosen(place)),
    writes: [...view.writes.values()].flatMap((entries) => entries.filter(({ place }) => chosen(place))),
  };
}

/** The view with entries moved to new places. `to` holds the same entries as `from`, in the same order. */
export function withPlaces(view: ThreadView, from: Entries, to: Entries): ThreadView {
  const blobs = new Map(view.blobs);
  for (const entry of to.blobs) blobs.set(entry.hash, entry);
  const records = new Map(view.records);
  for (const entry of to.records) records.set(checkpointKey(entry), entry);
  const places = new Map(from.writes.map((entry, position) => [entry, to.writes[position]!]));
  const writes = new Map(
    [...view.writes].map(([key, entries]) => [key, entries.map((entry) => places.get(entry) ?? entry)]),
  );
  return { ...view, blobs, records, writes };
}

/** The hashes of a checkpoint's blobs and of all their bases. Undefined if a blob is missing. */
export function closureOf(view: ThreadView, record: RecordEntry): BlobHash[] | undefined {
  const closure = blobClosure(namedBlobs(record, view.writes.get(checkpointKey(record)) ?? []), view.blobs);
  return closure === undefined ? undefined : [...closure.keys()];
}

/** As {@link closureOf}, but it doesn't matter if blobs are missing. */
export function neededBy(view: ThreadView, record: RecordEntry): BlobHash[] {
  const writes = view.writes.get(checkpointKey(record)) ?? [];
  const needed = namedBlobs(record, writes);
  for (const hash of needed) {
    const base = view.blobs.get(hash)?.base;
    if (base !== undefined) needed.add(base);
  }
  return [...needed];
}
