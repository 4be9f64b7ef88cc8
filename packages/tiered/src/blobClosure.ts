import type {
  Blob,
  BlobHash,
  CheckpointRecord,
  Peek,
  StoredCheckpoint,
  StoredWriteBatch,
} from "@stratigraph/core";

/** The blobs that a record and its pending writes name, patch bases not included. */
export function namedBlobs(
  record: Pick<CheckpointRecord, "blobs"> | undefined,
  writes: readonly Pick<StoredWriteBatch, "blobs">[],
): Set<BlobHash> {
  return new Set([...(record?.blobs ?? []), ...writes.flatMap(({ blobs }) => blobs)]);
}

/**
 * What is needed of `blobs` to decode `names`: these with all their bases. Undefined where one is missing, or where a chain
 * runs in a circle, which copies made before and after a pruning may do.
 */
export function chainsOf(
  names: Iterable<BlobHash>,
  blobs: ReadonlyMap<BlobHash, Blob>,
): Map<BlobHash, Blob> | undefined {
  const needed = new Map<BlobHash, Blob>();
  for (const name of names) {
    const path = new Set<BlobHash>();
    for (let next: BlobHash | undefined = name; next !== undefined && !needed.has(next);) {
      const blob = blobs.get(next);
      if (blob === undefined || path.has(next)) return undefined;
      path.add(next);
      next = blob.base;
    }
    for (const hash of path) needed.set(hash, blobs.get(hash)!);
  }
  return needed;
}

/** A checkpoint of the owner's record and pending writes with blobs found elsewhere; undefined where one is missing. */
export function assembled(
  record: CheckpointRecord | undefined,
  { writes }: Peek,
  found: ReadonlyMap<BlobHash, Blob>,
): StoredCheckpoint | undefined {
  if (record === undefined) return undefined;
  const blobs = chainsOf(namedBlobs(record, writes), found);
  return blobs === undefined ? undefined : { record, blobs, writes };
}
