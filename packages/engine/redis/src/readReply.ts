import type {
  BlobHash,
  MaybeAddress,
  Peek,
  Reading,
  StoredWriteBatch,
  ThreadState,
} from "@stratigraph/core/tier";
import { decodeId } from "./checkpointKeys.ts";
import type { NamedBlobs } from "./largeBlobs.ts";
import { decodeBatch, decodeBlobs, decodeRecord } from "./fieldValues.ts";

/**
 * What read.lua answers: revision, head, copy, write batches, key and record; for Tier.read also blobs and names of large blobs. In the place
 * of the batches: 1 if there is no head because it was lost, 0 if there is none.
 */
export type ReadReply = [
  number,
  (Buffer | null)?,
  (Buffer | null)?,
  (Buffer[] | number)?,
  Buffer?,
  (Buffer | null)?,
  Buffer[]?,
  NamedBlobs?,
];

function stateOf([revision, head, copied, writes]: ReadReply): ThreadState {
  const [copyRevision = 0, untilMs = 0] = copied ? String(copied).split(":").map(Number) : [];
  return {
    revision,
    head: head ? decodeId(head) : undefined,
    ...(writes === 1 ? { headless: true } : {}),
    ...(untilMs > Date.now() ? { copy: { revision: copyRevision, untilMs } } : {}),
  };
}

function writesOf([, , , writes = []]: ReadReply): StoredWriteBatch[] {
  return typeof writes === "number" ? [] : writes.map(decodeBatch);
}

/** The answer of Tier.peek. */
export function peekFrom(at: MaybeAddress, reply: ReadReply): Peek {
  const [revision, , , , key, record] = reply;
  if (reply.length === 1) return { revision, writes: [] };
  const state = stateOf(reply);
  return {
    ...state,
    checkpointId: at.checkpointId ?? state.head,
    writes: writesOf(reply),
    ...(key && record ? { record: decodeRecord(at.threadId, key, record) } : {}),
  };
}

/** The answer of Tier.read. @param large undefined if large blobs are missing */
export function readingFrom(
  at: MaybeAddress,
  reply: ReadReply,
  large: ReadonlyMap<BlobHash, Buffer> | undefined,
): Reading {
  const [, , , , key, record, blobs = []] = reply;
  if (!key || !record || large === undefined) return stateOf(reply);
  const checkpoint = {
    record: decodeRecord(at.threadId, key, record),
    blobs: decodeBlobs(blobs, large),
    writes: writesOf(reply),
  };
  return { ...stateOf(reply), checkpoint };
}
