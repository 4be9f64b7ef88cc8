import type { BlobHash, ListedCheckpoint } from "@stratigraph/core";
import { decodeId } from "./checkpointKeys.ts";
import { decodeBatch, decodeBlobs, decodeRecord } from "./fieldValues.ts";

/** A checkpoint in a page: key, record, head of its namespace, write batches. */
export type ListedReply = [Buffer, Buffer, Buffer | null, Buffer[]];

/** The checkpoints of a page; they share its blobs. */
export function checkpointsFrom(
  threadId: string,
  items: readonly ListedReply[],
  flatBlobs: readonly Buffer[],
  large: ReadonlyMap<BlobHash, Buffer>,
): ListedCheckpoint[] {
  const blobs = decodeBlobs(flatBlobs, large);
  return items.map(([key, record, head, batches]) => ({
    record: decodeRecord(threadId, key, record),
    blobs,
    writes: batches.map(decodeBatch),
    head: head === null ? undefined : decodeId(head),
  }));
}
