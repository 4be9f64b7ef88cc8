import { beginsThread } from "@stratigraph/core/internal";
import {
  goesOn,
  type Address,
  type AppendRequest,
  type AppendWritesRequest,
  type WriteBatch,
} from "@stratigraph/core/tier";

/** A call of append() or appendWrites() that is yet to be sent. Its bytes are still in the caller's buffers. */
export interface PendingAppend extends AppendRequest {
  readonly writes?: readonly (Address & WriteBatch & Pick<AppendWritesRequest, "outcome">)[] | undefined;
  /** It continues a thread rather than beginning one. */
  readonly goesOn: boolean;
  /** It begins a thread, which must not have lost its head. */
  readonly begins: boolean;
  /** Bytes of all bodies and blobs. */
  readonly bytes: number;
}

/** An append, with each record once. */
export function pendingAppend(request: AppendRequest): PendingAppend {
  const records = lastOfEach(request.records);
  return {
    ...request,
    records,
    goesOn: goesOn(request),
    begins: beginsThread(request),
    bytes: bytesOf({ ...request, records }),
  };
}

/** One batch of pending writes: an append of nothing else. */
export function pendingWrites(batch: AppendWritesRequest): PendingAppend {
  const { threadId, newBlobs: blobs, seen, relies } = batch;
  const parts = { threadId, records: [], blobs, writes: [batch], heads: [], seen, relies } as const;
  return { ...parts, onConflict: "refuse", goesOn: seen === undefined, begins: false, bytes: bytesOf(parts) };
}

function bytesOf({
  records,
  blobs,
  writes = [],
}: Pick<AppendRequest, "records" | "blobs" | "writes">): number {
  let sum = 0;
  for (const { body } of records) sum += body.length;
  for (const { bytes } of blobs) sum += bytes.length;
  for (const { body } of writes) sum += body.length;
  return sum;
}

/** Keeps the last of equal records: one statement can't write a row twice. */
function lastOfEach(records: AppendRequest["records"]): AppendRequest["records"] {
  if (records.length < 2) return records;
  const byPlace = new Map<string, AppendRequest["records"][number]>();
  for (const record of records) byPlace.set(JSON.stringify([record.namespace, record.checkpointId]), record);
  return [...byPlace.values()];
}
