import { WRITES_IDX_MAP } from "@langchain/langgraph-checkpoint";
import { ByteReader, concat, text, utf8, varint } from "./bytes.ts";
import type { ValueRef } from "./record.ts";
import { verified, withChecksum } from "./seal.ts";
import type { BlobHash } from "./tier.ts";

/** One pending write of a batch, its value not yet revived. */
export interface EncodedWrite {
  /** Position in the batch; negative for LangGraph's special channels (WRITES_IDX_MAP). */
  readonly index: number;
  readonly channel: string;
  readonly value: ValueRef;
}

type Line = readonly [
  index: number,
  channel: string,
  value: number | readonly [length: number, type: string],
];

/** Position of a write: special channels have one each, so that they replace what was there. */
export function writeIndex(channel: string, position: number): number {
  return Object.hasOwn(WRITES_IDX_MAP, channel) ? (WRITES_IDX_MAP[channel] ?? position) : position;
}

/** Encodes the writes of one putWrites call; `owner` is bound by a checksum. */
export function encodeWrites(
  owner: readonly string[],
  writes: readonly EncodedWrite[],
): { content: Uint8Array; blobs: BlobHash[] } {
  const blobs: BlobHash[] = [];
  const inline: Uint8Array[] = [];
  const lines = writes.map(({ index, channel, value }): Line => {
    if ("hash" in value) return [index, channel, blobs.push(value.hash) - 1];
    inline.push(value.bytes);
    return [index, channel, [value.bytes.length, value.type]];
  });
  const json = utf8(JSON.stringify(lines));
  return { content: withChecksum(owner, concat([varint(json.length), json, ...inline])), blobs };
}

/** @throws RangeError, SyntaxError or TypeError where the bytes aren't what {@link encodeWrites} made for `owner` */
export function decodeWrites(
  owner: readonly string[],
  bytes: Uint8Array,
  blobs: readonly BlobHash[],
): EncodedWrite[] {
  const reader = new ByteReader(verified(owner, bytes));
  const lines = JSON.parse(text(reader.take(reader.varint()))) as readonly Line[];
  return lines.map(([index, channel, value]) => {
    if (typeof value !== "number")
      return { index, channel, value: { type: value[1], bytes: reader.take(value[0]) } };
    const hash = blobs[value];
    if (hash === undefined) throw new RangeError(`a pending write names blob ${value} of ${blobs.length}`);
    return { index, channel, value: { hash } };
  });
}

/** A write with the task that made it. */
export interface TaskWrite extends EncodedWrite {
  readonly taskId: string;
}

/**
 * What a series of batches comes to, oldest first: a special channel's write replaces the earlier one
 * in its place, a regular write stands and later ones with its index are ignored. Makes repeating a
 * batch harmless.
 */
export function mergeWrites(
  batches: readonly { taskId: string; writes: readonly EncodedWrite[] }[],
): TaskWrite[] {
  const merged = new Map<string, TaskWrite>();
  for (const { taskId, writes } of batches) {
    for (const write of writes) {
      const key = `${write.index} ${taskId}`;
      if (write.index < 0 || !merged.has(key)) merged.set(key, { ...write, taskId });
    }
  }
  return [...merged.values()];
}
