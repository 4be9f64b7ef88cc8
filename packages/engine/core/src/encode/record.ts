import type { ChannelVersions, Checkpoint } from "@langchain/langgraph-checkpoint";
import { ByteReader, concat, text, utf8, varint } from "./bytes.ts";
import { verified, withChecksum } from "./storedBody.ts";
import type { BlobHash } from "../contract/tier.ts";

/** The version of an application's state that was stored without one. */
export const firstVersion = 1;

/**
 * Which pending writes of its parent a checkpoint was made from: ids of batches, or of writers. A writer's id stands for all that the
 * writer wrote there. The first id names the writer that put the checkpoint. Undefined means all writes, as in checkpoints that were
 * imported, or stored by older versions.
 */
export type Consumed = readonly [string, ...string[]] | undefined;

/** Where a value is: in a blob of its own, or in the bytes that refer to it. */
export type ValueRef = { readonly hash: BlobHash } | { readonly type: string; readonly bytes: Uint8Array };

/** A serialised value: the serde's type name and its bytes. */
export type Typed = readonly [type: string, bytes: Uint8Array];

/** One line of a manifest: a channel, its version and its value, if it has one. */
export interface ManifestEntry {
  readonly channel: string;
  readonly version: ChannelVersions[string] | undefined;
  readonly value: ValueRef | undefined;
}

/**
 * The value of a best-effort channel: its version, and the id of the value. It isn't a part of the checkpoint, and may not be stored yet, or
 * no longer. So a reader that doesn't know of it finds a checkpoint whose channel was never written.
 */
export interface LooseValue {
  readonly channel: string;
  readonly version: ChannelVersions[string];
  readonly id: string;
}

/** A checkpoint without its values. */
export type Header = Omit<Checkpoint, "channel_values">;

/** What {@link decodeBody} finds. */
export interface DecodedBody {
  readonly header: Header;
  readonly metadata: Typed;
  readonly manifest: ReadonlyMap<string, ManifestEntry>;
  /** The pending writes of its parent that the checkpoint was made from. */
  readonly consumed: Consumed;
  readonly loose: readonly LooseValue[];
  /** The version of the application's state that it was written under. */
  readonly stateVersion: number;
}

type Version = ChannelVersions[string];
/** Where a value is: its position in the record's list of blobs, or the length and type of its bytes in the inline section. */
type Reference = number | readonly [length: number, type: string];
type ChannelLine = readonly [channel: string, version: Version | null, value?: Reference];
type SeenLine = readonly [
  node: string,
  versions: readonly (readonly [channel: number | string, version: Version])[],
];

/** The part of a body that is JSON; documented in docs/format.md. */
interface Skeleton {
  readonly v: number;
  readonly ts: string;
  readonly c: readonly ChannelLine[];
  readonly s: readonly SeenLine[];
  /** Fields of the checkpoint that this version doesn't know. */
  readonly x?: Record<string, unknown>;
  /** {@link Consumed}; absent: all. */
  readonly w?: NonNullable<Consumed>;
  /** {@link LooseValue}; absent: none. */
  readonly b?: readonly (readonly [channel: string, version: Version, id: string])[];
  /** Version of the application's state; absent: 1. */
  readonly a?: number;
}

/** Encodes header, metadata and manifest; `owner` and the blobs are bound by a checksum. Also returns the blobs that it names. */
export function encodeBody(
  owner: readonly string[],
  header: Header,
  metadata: Typed,
  entries: readonly ManifestEntry[],
  consumed?: Consumed,
  loose: readonly LooseValue[] = [],
  stateVersion: number = firstVersion,
): { content: Uint8Array; blobs: BlobHash[] } {
  const { v, ts, versions_seen, id: _id, channel_versions: _versions, ...rest } = header;
  const positions = new Map(entries.map((entry, position) => [entry.channel, position]));
  const blobs: BlobHash[] = [];
  const inline: Uint8Array[] = [];
  const c = entries.map(({ channel, version, value }): ChannelLine => {
    if (value === undefined) return [channel, version ?? null];
    if ("hash" in value) return [channel, version ?? null, blobs.push(value.hash) - 1];
    inline.push(value.bytes);
    return [channel, version ?? null, [value.bytes.length, value.type]];
  });
  const s = Object.entries(versions_seen).map(([node, seen]): SeenLine => [
    node,
    Object.entries(seen).map(([channel, version]) => [positions.get(channel) ?? channel, version]),
  ]);
  const skeleton: Skeleton = {
    v,
    ts,
    c,
    s,
    ...(Object.keys(rest).length > 0 ? { x: rest } : {}),
    ...(consumed === undefined ? {} : { w: consumed }),
    ...(loose.length === 0 ? {} : { b: loose.map(({ channel, version, id }) => [channel, version, id]) }),
    ...(stateVersion === firstVersion ? {} : { a: stateVersion }),
  };
  const json = utf8(JSON.stringify(skeleton));
  const type = utf8(metadata[0]);
  const parts = [
    varint(json.length),
    json,
    varint(type.length),
    type,
    varint(metadata[1].length),
    metadata[1],
    ...inline,
  ];
  return { content: withChecksum(owner, blobs, concat(parts)), blobs };
}

/** @throws RangeError, SyntaxError or TypeError if the bytes aren't what {@link encodeBody} made for `owner` */
export function decodeBody(
  owner: readonly string[],
  checkpointId: string,
  bytes: Uint8Array,
  blobs: readonly BlobHash[],
): DecodedBody {
  const reader = new ByteReader(verified(owner, blobs, bytes));
  const skeleton = JSON.parse(text(reader.take(reader.varint()))) as Skeleton;
  const type = text(reader.take(reader.varint()));
  const metadata: Typed = [type, reader.take(reader.varint())];
  const valueOf = (reference: Reference | undefined): ValueRef | undefined => {
    if (reference === undefined) return undefined;
    if (typeof reference !== "number") return { type: reference[1], bytes: reader.take(reference[0]) };
    const hash = blobs[reference];
    if (hash === undefined) throw new RangeError(`the manifest names blob ${reference} of ${blobs.length}`);
    return { hash };
  };
  const entries = skeleton.c.map(([channel, version, value]): ManifestEntry => ({
    channel,
    version: version ?? undefined,
    value: valueOf(value),
  }));
  const name = (channel: number | string): string => {
    const found = typeof channel === "string" ? channel : entries[channel]?.channel;
    if (found === undefined)
      throw new RangeError(`versions_seen names channel ${channel} of ${entries.length}`);
    return found;
  };
  const header: Header = {
    ...skeleton.x,
    v: skeleton.v,
    id: checkpointId,
    ts: skeleton.ts,
    channel_versions: Object.fromEntries(
      entries.flatMap((entry) => (entry.version === undefined ? [] : [[entry.channel, entry.version]])),
    ),
    versions_seen: Object.fromEntries(
      skeleton.s.map(([node, seen]) => [
        node,
        Object.fromEntries(seen.map(([channel, version]) => [name(channel), version])),
      ]),
    ),
  };
  return {
    header,
    metadata,
    manifest: new Map(entries.map((entry) => [entry.channel, entry])),
    consumed: skeleton.w,
    loose: (skeleton.b ?? []).map(([channel, version, id]) => ({ channel, version, id })),
    stateVersion: skeleton.a ?? firstVersion,
  };
}

/** When a checkpoint was made, by its own timestamp, in milliseconds since 1970. Without a timestamp it counts as the oldest possible. */
export function madeAtMs({ header }: DecodedBody): number {
  const ms = Date.parse(header.ts);
  return Number.isNaN(ms) ? 0 : ms;
}

/** A header that shares nothing with the one given, which LangGraph may go on changing. */
export function headerCopy({ channel_versions, versions_seen, v, id, ts, ...rest }: Header): Header {
  const seen = Object.entries(versions_seen).map(([node, versions]) => [node, { ...versions }] as const);
  return {
    // Fields that this version doesn't know are stored as JSON.
    ...(Object.keys(rest).length === 0 ? {} : (JSON.parse(JSON.stringify(rest)) as object)),
    v,
    id,
    ts,
    channel_versions: { ...channel_versions },
    versions_seen: Object.fromEntries(seen),
  };
}
