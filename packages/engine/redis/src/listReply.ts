import type { BlobHash, ListedCheckpoint } from "@stratigraph/core/tier";
import { decodeId } from "./checkpointKeys.ts";
import { decodeBatch, decodeBlobs, decodeRecord } from "./fieldValues.ts";

/** One checkpoint in a script's answer: key, record, head of its namespace, write batches. */
export type ListedReply = [Buffer, Buffer, Buffer | null, Buffer[]];

/** Decodes the checkpoints of a page. They all get the same map of blobs. */
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
