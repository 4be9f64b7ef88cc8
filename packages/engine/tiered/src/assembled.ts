import {
  blobClosure,
  namedBlobs,
  type Blob,
  type BlobHash,
  type CheckpointRecord,
  type Peek,
  type StoredCheckpoint,
} from "@stratigraph/core/tier";

/** Makes a checkpoint of the owner's record and pending writes, and of blobs found elsewhere. Undefined if a blob is missing. */
export function assembled(
  record: CheckpointRecord | undefined,
  { writes }: Peek,
  found: ReadonlyMap<BlobHash, Blob>,
): StoredCheckpoint | undefined {
  if (record === undefined) return undefined;
  const blobs = blobClosure(namedBlobs(record, writes), found);
  return blobs === undefined ? undefined : { record, blobs, writes };
}
