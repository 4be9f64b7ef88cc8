import type { Address, AppendRequest, AppendWritesRequest, Blob, WriteBatch } from "@stratigraph/core";
import { encodeId, encodeKey, type Bytes } from "./ids.ts";
import { blobArgs, encodeBatch, encodeLostTo, encodeRecord } from "./storedForms.ts";

type Args = (Bytes | number)[];

/** Arguments of append.lua. */
export function appendArgs(request: AppendRequest, ttlMs: number): Args {
  const { threadId, seen, relies, onConflict, blobs, heads, records, writes = [] } = request;
  const args: Args = [
    threadId,
    ttlMs,
    seen ?? "",
    goesOn(request) ? 1 : 0,
    reliesOnStored(relies, blobs) ? 1 : 0,
  ];
  args.push(onConflict === "refuse" ? 1 : 0);
  // One by one: an import has more arguments than a call may have.
  for (const arg of blobArgs(blobs)) args.push(arg);
  args.push(heads.length);
  for (const { namespace, to, expected } of heads) {
    const known = expected === "any" ? [] : expected;
    args.push(namespace, encodeId(to), expected === "any" ? 1 : 0, known.length, ...known.map(encodeId));
  }
  args.push(records.length);
  for (const record of records) {
    const key = encodeKey(record.namespace, record.checkpointId);
    args.push(key, record.namespace, encodeLostTo(record), encodeRecord(record));
  }
  return [...args, writes.length, ...writes.flatMap(batchArgs)];
}

/** Arguments of appendWrites.lua. */
export function appendWritesArgs(request: AppendWritesRequest, ttlMs: number): Args {
  const { threadId, seen, relies, newBlobs } = request;
  const continues = seen === undefined;
  return [
    ...[threadId, ttlMs, seen ?? "", continues ? 1 : 0, reliesOnStored(relies, newBlobs) ? 1 : 0],
    ...blobArgs(newBlobs),
    ...batchArgs(request),
  ];
}

function batchArgs(batch: Address & WriteBatch): Args {
  return [encodeKey(batch.namespace, batch.checkpointId), encodeBatch(batch)];
}

/** Whether an append continues what must be there already, rather than beginning a thread or importing one. */
function goesOn({ records, heads }: AppendRequest): boolean {
  return (
    records.every(({ parentId }) => parentId !== undefined) &&
    heads.every(({ expected }) => expected !== "any")
  );
}

/** A patch relies on its base as much as a record on a blob that it doesn't bring. */
function reliesOnStored(relies: boolean | undefined, blobs: readonly Blob[]): boolean {
  if (relies === true) return true;
  const here = new Set(blobs.map(({ hash }) => hash));
  return blobs.some(({ base }) => base !== undefined && !here.has(base));
}
