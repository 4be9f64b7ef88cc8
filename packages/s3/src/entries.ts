import type { BlobHash, CheckpointRecord, StoredWriteBatch } from "@stratigraph/core";

/** Where an item's bytes are: in memory, or in a pack. */
export type Place = Uint8Array | PackedPlace;

/** Bytes in a section of a pack, and how they were made from what lies there. */
export interface PackedPlace {
  readonly pack: string;
  readonly section: number;
  readonly start: number;
  readonly length: number;
  /** See recipes.ts. */
  readonly recipe: number;
}

/** A blob as a thread's index knows it. `size`: of its bytes. */
export interface BlobLine {
  readonly hash: BlobHash;
  readonly base: BlobHash | undefined;
  readonly size: number;
  readonly place: Place;
}

/** A checkpoint as a thread's index knows it: all but the body. */
export interface RecordLine extends Omit<CheckpointRecord, "threadId" | "body"> {
  readonly place: Place;
}

/** Pending writes as a thread's index knows them. */
export interface WritesLine extends Omit<StoredWriteBatch, "body"> {
  readonly namespace: string;
  readonly checkpointId: string;
  readonly place: Place;
}

/** Items of a thread. Their bytes lie in this order: blobs, records, writes. */
export interface Lines {
  readonly blobs: readonly BlobLine[];
  readonly records: readonly RecordLine[];
  readonly writes: readonly WritesLine[];
}

/** A blob named by its position in the list before, or by its hash where it is elsewhere. */
type BlobName = number | string;
type Text = string | null;

/** Lines as JSON; docs/format.md. Every line ends with length and recipe of its stored bytes. */
export interface LinesJson {
  readonly b: readonly (readonly [
    hash: string,
    base: BlobName | null,
    size: number,
    length: number,
    recipe: number,
  ])[];
  readonly r: readonly (readonly [
    namespace: string,
    id: string,
    parent: Text,
    run: Text,
    tags: readonly number[],
    blobs: readonly BlobName[],
    lostTo: Text,
    length: number,
    recipe: number,
  ])[];
  readonly w: readonly (readonly [
    namespace: string,
    id: string,
    task: string,
    blobs: readonly BlobName[],
    order: number,
    length: number,
    recipe: number,
  ])[];
}

/** Stored bytes of one item. */
export interface StoredForm {
  readonly bytes: Uint8Array;
  readonly recipe: number;
}

/** The places of lines, in the order in which their bytes lie. */
export function placesOf({ blobs, records, writes }: Lines): Place[] {
  return [...blobs, ...records, ...writes].map(({ place }) => place);
}

/** @param forms the lines' stored bytes, in order */
export function linesToJson({ blobs, records, writes }: Lines, forms: readonly StoredForm[]): LinesJson {
  const positions = new Map(blobs.map(({ hash }, position) => [hash, position]));
  const nameOf = (hash: BlobHash): BlobName => positions.get(hash) ?? hash;
  let next = 0;
  const stored = (): [length: number, recipe: number] => {
    const { bytes, recipe } = forms[next++]!;
    return [bytes.length, recipe];
  };
  return {
    b: blobs.map(({ hash, base, size }) => [
      hash,
      base === undefined ? null : nameOf(base),
      size,
      ...stored(),
    ]),
    r: records.map((line) => [
      line.namespace,
      line.checkpointId,
      line.parentId ?? null,
      line.runId ?? null,
      line.tags,
      line.blobs.map(nameOf),
      line.lostTo ?? null,
      ...stored(),
    ]),
    w: writes.map((line) => [
      line.namespace,
      line.checkpointId,
      line.taskId,
      line.blobs.map(nameOf),
      line.order,
      ...stored(),
    ]),
  };
}

/** @param placeOf tells each item's place; called in the order in which their bytes lie */
export function linesFromJson(
  { b, r, w }: LinesJson,
  placeOf: (length: number, recipe: number) => Place,
): Lines {
  const hashOf = (name: BlobName): BlobHash => (typeof name === "string" ? name : b[name]![0]);
  return {
    blobs: b.map(([hash, base, size, length, recipe]) => ({
      hash,
      base: base === null ? undefined : hashOf(base),
      size,
      place: placeOf(length, recipe),
    })),
    records: r.map(([namespace, checkpointId, parentId, runId, tags, blobs, lostTo, length, recipe]) => ({
      namespace,
      checkpointId,
      parentId: parentId ?? undefined,
      runId: runId ?? undefined,
      tags,
      blobs: blobs.map(hashOf),
      lostTo: lostTo ?? undefined,
      place: placeOf(length, recipe),
    })),
    writes: w.map(([namespace, checkpointId, taskId, blobs, order, length, recipe]) => ({
      namespace,
      checkpointId,
      taskId,
      blobs: blobs.map(hashOf),
      order,
      place: placeOf(length, recipe),
    })),
  };
}
