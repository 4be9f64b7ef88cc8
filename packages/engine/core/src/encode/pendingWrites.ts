import { WRITES_IDX_MAP } from "@langchain/langgraph-checkpoint";
import { ByteReader, concat, text, utf8, varint } from "./bytes.ts";
import type { ValueRef } from "./record.ts";
import { verified, withChecksum } from "./storedBody.ts";
import type { BlobHash } from "../contract/tier.ts";
import { compareWrites, type WritePlace } from "./writeOrder.ts";

/** One pending write of a batch, its value not yet revived. */
export interface EncodedWrite {
  /** Position in the batch; negative for LangGraph's special channels (WRITES_IDX_MAP). */
  readonly index: number;
  readonly channel: string;
  readonly value: ValueRef;
}

/** What a batch says about itself, in its first line, where readers of older versions don't look. */
interface About {
  /** Task path; absent if LangGraph named none. */
  readonly p?: string;
  /** Id of the batch; absent in batches of older versions. */
  readonly w?: string;
  /** Best-effort channels whose writes were left out. */
  readonly b?: readonly string[];
}

type Line = readonly [
  index: number,
  channel: string,
  value: number | readonly [length: number, type: string],
  about?: About,
];

/** Who wrote a batch, and where in the graph. */
export interface BatchOrigin {
  /** LangGraph's path of the task; "" for none. */
  readonly taskPath: string;
  /** As {@link Writers.nextBatchId} made it: the id of its writer, and a number. Undefined in batches of older versions. */
  readonly batchId: string | undefined;
  /** Best-effort channels whose writes were left out of the batch. */
  readonly omitted?: readonly string[] | undefined;
}

/** Position of a write. Each special channel has a fixed one, so that a write to it replaces the one before. */
export function writeIndex(channel: string, position: number): number {
  return Object.hasOwn(WRITES_IDX_MAP, channel) ? (WRITES_IDX_MAP[channel] ?? position) : position;
}

/** Encodes the writes of one putWrites call; `owner` and the blobs are bound by a checksum. */
export function encodeWrites(
  owner: readonly string[],
  { taskPath, batchId, omitted = [] }: BatchOrigin,
  writes: readonly EncodedWrite[],
): { content: Uint8Array; blobs: BlobHash[] } {
  const blobs: BlobHash[] = [];
  const inline: Uint8Array[] = [];
  const about: About = {
    ...(taskPath === "" ? {} : { p: taskPath }),
    ...(batchId === undefined ? {} : { w: batchId }),
    ...(omitted.length === 0 ? {} : { b: omitted }),
  };
  const isSaid = Object.keys(about).length > 0;
  const lines = writes.map(({ index, channel, value }, position): Line => {
    const rest: [About?] = isSaid && position === 0 ? [about] : [];
    if ("hash" in value) return [index, channel, blobs.push(value.hash) - 1, ...rest];
    inline.push(value.bytes);
    return [index, channel, [value.bytes.length, value.type], ...rest];
  });
  const json = utf8(JSON.stringify(lines));
  return { content: withChecksum(owner, blobs, concat([varint(json.length), json, ...inline])), blobs };
}

/** @throws RangeError, SyntaxError or TypeError if the bytes aren't what {@link encodeWrites} made for `owner` */
export function decodeWrites(
  owner: readonly string[],
  bytes: Uint8Array,
  blobs: readonly BlobHash[],
): BatchOrigin & { readonly writes: readonly EncodedWrite[] } {
  const reader = new ByteReader(verified(owner, blobs, bytes));
  const lines = JSON.parse(text(reader.take(reader.varint()))) as readonly Line[];
  const about = lines[0]?.[3];
  const writes = lines.map(([index, channel, value]): EncodedWrite => {
    if (typeof value !== "number")
      return { index, channel, value: { type: value[1], bytes: reader.take(value[0]) } };
    const hash = blobs[value];
    if (hash === undefined) throw new RangeError(`a pending write names blob ${value} of ${blobs.length}`);
    return { index, channel, value: { hash } };
  });
  return { taskPath: about?.p ?? "", batchId: about?.w, omitted: about?.b, writes };
}

/** A batch, opened. */
export interface OpenedBatch extends BatchOrigin {
  readonly taskId: string;
  readonly writes: readonly EncodedWrite[];
}

/** A write with the task that made it. */
export interface TaskWrite extends EncodedWrite, WritePlace {}

/**
 * The writes that result from a series of batches, oldest first. They are in LangGraph's order. A special channel's write replaces the
 * earlier one in its place. Of regular writes with the same index, the first stays, and later ones are ignored. So repeating a batch is
 * harmless.
 */
export function mergeWrites(batches: readonly OpenedBatch[]): TaskWrite[] {
  const merged = new Map<string, TaskWrite>();
  for (const { taskId, taskPath, writes } of batches) {
    for (const write of writes) {
      const key = `${write.index} ${taskId}`;
      if (write.index < 0 || !merged.has(key)) merged.set(key, { ...write, taskId, taskPath });
    }
  }
  return [...merged.values()].sort(compareWrites);
}
