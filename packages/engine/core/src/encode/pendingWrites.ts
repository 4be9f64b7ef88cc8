import { WRITES_IDX_MAP } from "@langchain/langgraph-checkpoint";
import { ByteReader, concat, text, utf8, varint } from "./bytes.ts";
import { firstVersion, type ValueRef } from "./record.ts";
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
  /** Version of the application's state; absent: 1. */
  readonly a?: number;
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
  /** The version of the application's state that it was written under. Default: the first. */
  readonly stateVersion?: number;
}

/** Position of a write. Each special channel has a fixed one, so that a write to it replaces the one before. */
export function writeIndex(channel: string, position: number): number {
  return Object.hasOwn(WRITES_IDX_MAP, channel) ? (WRITES_IDX_MAP[channel] ?? position) : position;
}

/** Encodes the writes of one putWrites call; `owner` and the blobs are bound by a checksum. */
export function encodeWrites(
  owner: readonly string[],
  { taskPath, batchId, omitted = [], stateVersion = firstVersion }: BatchOrigin,
  writes: readonly EncodedWrite[],
): { content: Uint8Array; blobs: BlobHash[] } {
  const blobs: BlobHash[] = [];
  const inline: Uint8Array[] = [];
  const about: About = {
    ...(taskPath === "" ? {} : { p: taskPath }),
    ...(batchId === undefined ? {} : { w: batchId }),
    ...(omitted.length === 0 ? {} : { b: omitted }),
    ...(stateVersion === firstVersion ? {} : { a: stateVersion }),
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
): Required<Pick<BatchOrigin, "stateVersion">> & BatchOrigin & { readonly writes: readonly EncodedWrite[] } {
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
  const stateVersion = about?.a ?? firstVersion;
  return { taskPath: about?.p ?? "", batchId: about?.w, omitted: about?.b, stateVersion, writes };
}

/** A batch, opened. */
export interface OpenedBatch extends BatchOrigin {
  readonly taskId: string;
  readonly writes: readonly EncodedWrite[];
  readonly stateVersion: number;
}

/** A write with the task that made it. */
export type TaskWrite<Write = EncodedWrite> = Write &
  WritePlace & {
    /** The version of the application's state that it was written under. */
    readonly stateVersion: number;
  };

/** What decides which of a batch's writes count. */
interface MergedBatch<Write> extends Pick<OpenedBatch, "taskId" | "taskPath" | "stateVersion"> {
  readonly writes: readonly Write[];
}

/**
 * The writes that result from a series of batches, oldest first. They are in LangGraph's order. A special channel's write replaces the
 * earlier one in its place. Of regular writes with the same index, the first stays, and later ones are ignored. So repeating a batch is
 * harmless. Writes of one task under two versions of the state don't mix: those of the version that came first stay.
 */
export function mergeWrites<Write extends { readonly index: number }>(
  batches: readonly MergedBatch<Write>[],
): TaskWrite<Write>[] {
  const merged = new Map<string, TaskWrite<Write>>();
  const versions = new Map<string, number>();
  for (const { taskId, taskPath, stateVersion, writes } of batches) {
    for (const write of writes) {
      const key = `${write.index} ${taskId}`;
      const isSpecial = write.index < 0;
      if (!isSpecial && !versions.has(taskId)) versions.set(taskId, stateVersion);
      const isFirst = versions.get(taskId) === stateVersion && !merged.has(key);
      if (isSpecial || isFirst) merged.set(key, { ...write, taskId, taskPath, stateVersion });
    }
  }
  return [...merged.values()].sort(compareWrites);
}
