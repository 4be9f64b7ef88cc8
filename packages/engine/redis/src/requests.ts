import { goesOn } from "@stratigraph/core/tier";
import type {
  Address,
  AppendRequest,
  AppendWritesRequest,
  NamespaceCopy,
  RemoveRequest,
  ReplaceBytesRequest,
  WriteBatch,
} from "@stratigraph/core/tier";
import { outcomeLetters } from "@stratigraph/core/internal";
import { encodeId, encodeCheckpointKey, type Bytes } from "./checkpointKeys.ts";
import {
  asBuffer,
  blobArgs,
  encodeBatch,
  encodeLostTo,
  encodeRecord,
  encodeStoredBatch,
} from "./fieldValues.ts";

type Args = (Bytes | number)[];

/** Arguments of append.lua. */
export function appendArgs(request: AppendRequest, ttlMs: number): Args {
  const { threadId, seen, relies, needsParents, onConflict, blobs, heads, records, writes = [] } = request;
  const args: Args = [threadId, ttlMs, seen ?? "", goesOn(request) ? 1 : 0, relies === true ? 1 : 0];
  args.push(onConflict === "refuse" ? 1 : 0, needsParents === true ? 1 : 0);
  // Push one by one: an import has more arguments than `push(...)` can take.
  for (const arg of blobArgs(blobs)) args.push(arg);
  args.push(heads.length);
  for (const { namespace, to, expected } of heads) {
    const known = expected === "any" ? [] : expected;
    args.push(namespace, encodeId(to), expected === "any" ? 1 : 0, known.length, ...known.map(encodeId));
  }
  args.push(records.length);
  for (const record of records) {
    const key = encodeCheckpointKey(record.namespace, record.checkpointId);
    args.push(key, record.namespace, encodeLostTo(record), encodeRecord(record));
  }
  return [...args, writes.length, ...writes.flatMap(batchArgs)];
}

/** Arguments of appendWrites.lua. */
export function appendWritesArgs(request: AppendWritesRequest, ttlMs: number): Args {
  const { threadId, seen, relies, newBlobs } = request;
  const continues = seen === undefined;
  return [
    ...[threadId, ttlMs, seen ?? "", continues ? 1 : 0, relies === true ? 1 : 0],
    ...blobArgs(newBlobs),
    ...batchArgs(request),
  ];
}

function batchArgs(batch: Address & WriteBatch & Pick<AppendWritesRequest, "outcome">): Args {
  const outcome = batch.outcome === undefined ? "" : outcomeLetters[batch.outcome];
  return [encodeCheckpointKey(batch.namespace, batch.checkpointId), encodeBatch(batch), outcome];
}

/** Arguments of remove.lua. */
export function removeArgs({
  threadId,
  revision,
  checkpoints,
  dropBlobs,
  replaceBlobs,
  heads,
}: RemoveRequest): Args {
  return [
    ...[threadId, revision],
    ...[checkpoints.length, ...checkpoints.map((at) => encodeCheckpointKey(at.namespace, at.checkpointId))],
    ...[dropBlobs.length, ...dropBlobs],
    ...blobArgs(replaceBlobs),
    ...[
      heads.length,
      ...heads.flatMap(({ namespace, to }) => [namespace, to === undefined ? "" : encodeId(to)]),
    ],
  ];
}

/** Arguments of adopt.lua. */
export function adoptArgs(copy: NamespaceCopy, ttlMs: number): Args {
  const { threadId, namespace, revision, untilMs, head, record, blobs, writes } = copy;
  const stored =
    record === undefined
      ? []
      : [
          encodeCheckpointKey(record.namespace, record.checkpointId),
          encodeLostTo(record),
          encodeRecord(record),
        ];
  return [
    ...[threadId, ttlMs, namespace, revision, Math.floor(untilMs)],
    ...(head === undefined ? [0] : [1, encodeId(head)]),
    ...[stored.length === 0 ? 0 : 1, ...stored],
    ...blobArgs(blobs),
    ...[writes.length, ...writes.map(encodeStoredBatch)],
  ];
}

/** Arguments of replaceBytes.lua. */
export function replaceBytesArgs({ threadId, revision, records, writes, blobs }: ReplaceBytesRequest): Args {
  return [
    ...[threadId, revision],
    records.length,
    ...records.flatMap((at) => [encodeCheckpointKey(at.namespace, at.checkpointId), asBuffer(at.body)]),
    writes.length,
    ...writes.flatMap((at) => [
      encodeCheckpointKey(at.namespace, at.checkpointId),
      at.place,
      asBuffer(at.body),
    ]),
    blobs.length,
    ...blobs.flatMap(({ hash, bytes }) => [hash, asBuffer(bytes)]),
  ];
}
