import type { BlobHash, MaybeAddress, Peek, Reading, ThreadState } from "@stratigraph/core/tier";
import { decodeId } from "./checkpointKeys.ts";
import type { NamedBlobs } from "./largeBlobs.ts";
import { decodeBatch, decodeBlobs, decodeRecord } from "./fieldValues.ts";

/** What read.lua answers: revision, head, copy, write batches, key and record; for Tier.read also blobs and names of large blobs. */
export type ReadReply = [
  number,
  (Buffer | null)?,
  (Buffer | null)?,
  Buffer[]?,
  Buffer?,
  (Buffer | null)?,
  Buffer[]?,
  NamedBlobs?,
];

function stateOf([revision, head, copied]: ReadReply): ThreadState {
  const [copyRevision = 0, untilMs = 0] = copied ? String(copied).split(":").map(Number) : [];
  return {
    revision,
    head: head ? decodeId(head) : undefined,
    ...(untilMs > Date.now() ? { copy: { revision: copyRevision, untilMs } } : {}),
  };
}

/** The answer of Tier.peek. */
export function peekFrom(at: MaybeAddress, reply: ReadReply): Peek {
  const [revision, , , writes = [], key, record] = reply;
  if (reply.length === 1) return { revision, writes: [] };
  const state = stateOf(reply);
  return {
    ...state,
    checkpointId: at.checkpointId ?? state.head,
    writes: writes.map(decodeBatch),
    ...(key && record ? { record: decodeRecord(at.threadId, key, record) } : {}),
  };
}

/** The answer of Tier.read. @param large undefined if large blobs are missing */
export function readingFrom(
  at: MaybeAddress,
  reply: ReadReply,
  large: ReadonlyMap<BlobHash, Buffer> | undefined,
): Reading {
  const [, , , writes = [], key, record, blobs = []] = reply;
  if (!key || !record || large === undefined) return stateOf(reply);
  const checkpoint = {
    record: decodeRecord(at.threadId, key, record),
    blobs: decodeBlobs(blobs, large),
    writes: writes.map(decodeBatch),
  };
  return { ...stateOf(reply), checkpoint };
}
