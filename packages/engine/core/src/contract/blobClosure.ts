import type { BlobHash, BlobInfo, CheckpointRecord, WriteBatch } from "./tier.ts";

type HasBase = Pick<BlobInfo, "base">;

/** The blobs that a record and pending writes name, patch bases not included. */
export function namedBlobs(
  record: Pick<CheckpointRecord, "blobs"> | undefined,
  writes: readonly Pick<WriteBatch, "blobs">[],
): Set<BlobHash> {
  const named = new Set(record?.blobs);
  for (const batch of writes) for (const hash of batch.blobs) named.add(hash);
  return named;
}

/**
 * The named blobs with all bases that they are patches on: what decoding them needs. Undefined if one is missing, or if patches form a
 * circle, as copies made before and after a pruning may.
 */
export function blobClosure<B extends HasBase>(
  names: Iterable<BlobHash>,
  blobs: ReadonlyMap<BlobHash, B>,
): Map<BlobHash, B> | undefined {
  const closure = new Map<BlobHash, B>();
  for (const name of names) {
    const chain = new Map<BlobHash, B>();
    for (let next: BlobHash | undefined = name; next !== undefined && !closure.has(next);) {
      const blob = blobs.get(next);
      if (blob === undefined || chain.has(next)) return undefined;
      chain.set(next, blob);
      next = blob.base;
    }
    for (const [hash, blob] of chain) closure.set(hash, blob);
  }
  return closure;
}

/**
 * A blob that keeps the named ones from being decoded: it is missing, or its patches form a circle. Undefined if their whole
 * {@link blobClosure} is there. Allocates nothing: tiers ask on every read.
 */
export function missingBlob(
  names: Iterable<BlobHash>,
  blobs: ReadonlyMap<BlobHash, HasBase>,
): BlobHash | undefined {
  for (const name of names) {
    // A chain of more steps than there are blobs meets one of them twice.
    let steps = blobs.size;
    for (let next: BlobHash | undefined = name; next !== undefined; steps -= 1) {
      const blob = blobs.get(next);
      if (blob === undefined || steps === 0) return next;
      next = blob.base;
    }
  }
  return undefined;
}
