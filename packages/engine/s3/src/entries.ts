import type { BlobHash, CheckpointRecord, StoredWriteBatch } from "@stratigraph/core/tier";

/** An entry's bytes, or where they are in a pack. */
export type Place = Uint8Array | PackedPlace;

/** Where bytes lie in a section of a pack, and how the original bytes are made from them. */
export interface PackedPlace {
  readonly pack: string;
  readonly section: number;
  readonly start: number;
  readonly length: number;
  /** How the bytes must be compressed again, see recompression.ts. */
  readonly recompression: number;
}

/** A blob without its bytes. */
export interface BlobEntry {
  readonly hash: BlobHash;
  readonly base: BlobHash | undefined;
  /** The size of the blob, in bytes. */
  readonly size: number;
  readonly place: Place;
}

/** A checkpoint record without its body. */
export interface RecordEntry extends Omit<CheckpointRecord, "threadId" | "body"> {
  readonly place: Place;
}

/** A batch of pending writes without its body. */
export interface WritesEntry extends Omit<StoredWriteBatch, "body"> {
  readonly namespace: string;
  readonly checkpointId: string;
  readonly place: Place;
}

/** Entries of a thread. Their bytes are stored in this order: blobs, records, writes. */
export interface Entries {
  readonly blobs: readonly BlobEntry[];
  readonly records: readonly RecordEntry[];
  readonly writes: readonly WritesEntry[];
}

/** A blob's position in the list `b`, or its hash if it isn't in that list. */
type BlobName = number | string;
type Text = string | null;

/** The JSON form of entries (docs/format.md). Each entry ends with the length and the recompression of its stored bytes. */
export interface EntriesJson {
  readonly b: readonly (readonly [
    hash: string,
    base: BlobName | null,
    size: number,
    length: number,
    recompression: number,
  ])[];
  readonly r: readonly (readonly [
    namespace: string,
    id: string,
    parent: Text,
    run: Text,
    terms: readonly number[],
    blobs: readonly BlobName[],
    lostTo: Text,
    length: number,
    recompression: number,
  ])[];
  readonly w: readonly (readonly [
    namespace: string,
    id: string,
    task: string,
    blobs: readonly BlobName[],
    order: number,
    length: number,
    recompression: number,
  ])[];
}

/** The stored bytes of one entry. */
export interface StoredForm {
  readonly bytes: Uint8Array;
  readonly recompression: number;
}

/** The places of entries, in the order in which their bytes are stored. */
export function placesOf({ blobs, records, writes }: Entries): Place[] {
  return [...blobs, ...records, ...writes].map(({ place }) => place);
}

/** Converts entries to JSON. @param forms their stored bytes, in the order of {@link placesOf} */
export function entriesToJson(
  { blobs, records, writes }: Entries,
  forms: readonly StoredForm[],
): EntriesJson {
  const positions = new Map(blobs.map(({ hash }, position) => [hash, position]));
  const nameOf = (hash: BlobHash): BlobName => positions.get(hash) ?? hash;
  let next = 0;
  const stored = (): [length: number, recompression: number] => {
    const { bytes, recompression } = forms[next++]!;
    return [bytes.length, recompression];
  };
  return {
    b: blobs.map(({ hash, base, size }) => [
      hash,
      base === undefined ? null : nameOf(base),
      size,
      ...stored(),
    ]),
    r: records.map((entry) => [
      entry.namespace,
      entry.checkpointId,
      entry.parentId ?? null,
      entry.runId ?? null,
      entry.terms,
      entry.blobs.map(nameOf),
      entry.lostTo ?? null,
      ...stored(),
    ]),
    w: writes.map((entry) => [
      entry.namespace,
      entry.checkpointId,
      entry.taskId,
      entry.blobs.map(nameOf),
      entry.order,
      ...stored(),
    ]),
  };
}

/** Converts JSON to entries. @param placeOf makes each entry's place; called in the order in which the bytes are stored */
export function entriesFromJson(
  { b, r, w }: EntriesJson,
  placeOf: (length: number, recompression: number) => Place,
): Entries {
  const hashOf = (name: BlobName): BlobHash => (typeof name === "string" ? name : b[name]![0]);
  return {
    blobs: b.map(([hash, base, size, length, recompression]) => ({
      hash,
      base: base === null ? undefined : hashOf(base),
      size,
      place: placeOf(length, recompression),
    })),
    records: r.map(
      ([namespace, checkpointId, parentId, runId, terms, blobs, lostTo, length, recompression]) => ({
        namespace,
        checkpointId,
        parentId: parentId ?? undefined,
        runId: runId ?? undefined,
        terms,
        blobs: blobs.map(hashOf),
        lostTo: lostTo ?? undefined,
        place: placeOf(length, recompression),
      }),
    ),
    writes: w.map(([namespace, checkpointId, taskId, blobs, order, length, recompression]) => ({
      namespace,
      checkpointId,
      taskId,
      blobs: blobs.map(hashOf),
      order,
      place: placeOf(length, recompression),
    })),
  };
}

/** The total stored size of entries, in bytes. */
export function bytesIn(entries: Entries): number {
  return placesOf(entries).reduce((sum, { length }) => sum + length, 0);
}

/** The same entries with their bytes in memory. @param bytes in the order of {@link placesOf} */
export function inMemory(entries: Entries, bytes: readonly Uint8Array[]): Entries {
  let next = 0;
  const placed = <E extends { place: Place }>(entry: E): E => ({ ...entry, place: bytes[next++]! });
  return {
    blobs: entries.blobs.map(placed),
    records: entries.records.map(placed),
    writes: entries.writes.map(placed),
  };
}
