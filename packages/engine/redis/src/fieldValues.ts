import type { Blob, BlobHash, CheckpointRecord, StoredWriteBatch, WriteBatch } from "@stratigraph/core/tier";
import { decodeId, decodeCheckpointKey, encodeId, type Bytes } from "./checkpointKeys.ts";
import { StringReader, encodeStrings } from "./lengthPrefixed.ts";

// How records, batches and blobs are stored in a thread's hash; lua/common.lua lists the fields. An optional string is empty if
// it is absent; otherwise it begins with "+".

/** Encodes an optional string. */
export function optional(value: Bytes | undefined): Bytes {
  if (value === undefined) return "";
  return typeof value === "string" ? `+${value}` : Buffer.concat([Buffer.from("+"), value]);
}

function optionalId(id: string | undefined): Bytes {
  return optional(id === undefined ? undefined : encodeId(id));
}

function decodeOptional(bytes: Buffer): string | undefined {
  return bytes.length === 0 ? undefined : bytes.toString("utf8", 1);
}

function decodeOptionalId(bytes: Buffer): string | undefined {
  return bytes.length === 0 ? undefined : decodeId(bytes.subarray(1));
}

function hashesOf(bytes: Buffer): BlobHash[] {
  const hashes: BlobHash[] = [];
  for (const reader = new StringReader(bytes); !reader.done;) hashes.push(reader.next().toString());
  return hashes;
}

/** Encodes a record's `lostTo`. */
export function encodeLostTo(record: CheckpointRecord): Bytes {
  return optionalId(record.lostTo);
}

/** Encodes a record without its address (which is its key) and without `lostTo` (which the script puts in front). */
export function encodeRecord({ parentId, runId, terms, blobs, body }: CheckpointRecord): Buffer {
  const termList = terms.length === 0 ? "" : `,${terms.join(",")},`;
  return Buffer.concat([
    encodeStrings([optionalId(parentId), optional(runId), termList, encodeStrings(blobs)]),
    body,
  ]);
}

/** Decodes a record from its key and its stored value. */
export function decodeRecord(threadId: string, key: Buffer, value: Buffer): CheckpointRecord {
  const reader = new StringReader(value);
  const lostTo = decodeOptionalId(reader.next());
  const parentId = decodeOptionalId(reader.next());
  const runId = decodeOptional(reader.next());
  const terms = reader.next().toString().split(",").filter(Boolean).map(Number);
  const blobs = hashesOf(reader.next());
  return {
    threadId,
    ...decodeCheckpointKey(key),
    parentId,
    runId,
    terms,
    blobs,
    body: reader.rest(),
    lostTo,
  };
}

/** Encodes a batch without its order, which the script puts in front. */
export function encodeBatch({ taskId, blobs, body }: WriteBatch): Buffer {
  return Buffer.concat([encodeStrings([taskId, encodeStrings(blobs)]), body]);
}

/** Encodes a batch with its order. */
export function encodeStoredBatch(batch: StoredWriteBatch): Buffer {
  return Buffer.concat([encodeStrings([String(batch.order)]), encodeBatch(batch)]);
}

export function decodeBatch(value: Buffer): StoredWriteBatch {
  const reader = new StringReader(value);
  const order = Number(reader.next().toString());
  const taskId = reader.next().toString();
  const blobs = hashesOf(reader.next());
  return { order, taskId, blobs, body: reader.rest() };
}

/** Script arguments for blobs. */
export function blobArgs(blobs: readonly Blob[]): (Bytes | number)[] {
  return [blobs.length, ...blobs.flatMap(({ hash, base, bytes }) => [hash, base ?? "", asBuffer(bytes)])];
}

/** The same bytes as a Buffer, which clients need. */
export function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
}

/** Decodes blobs from a flat list of hashes and stored values. `large` has the bytes of those that the script only named. */
export function decodeBlobs(
  flat: readonly Buffer[],
  large: ReadonlyMap<BlobHash, Buffer>,
): Map<BlobHash, Blob> {
  const blobs = new Map<BlobHash, Blob>();
  for (let i = 0; i < flat.length; i += 2) {
    const hash = flat[i]!.toString();
    const reader = new StringReader(flat[i + 1]!);
    const base = reader.next().toString();
    blobs.set(hash, { hash, base: base === "" ? undefined : base, bytes: large.get(hash) ?? reader.rest() });
  }
  return blobs;
}
