import { createHash } from "node:crypto";
import type { ThreadStatus } from "@stratigraph/core";
import type { ThreadTag } from "@stratigraph/core/tier";
import { compress, decompress } from "./brotli.ts";
import { entriesFromJson, entriesToJson, type Entries, type EntriesJson } from "./entries.ts";
import type { PackRef } from "./packFile.ts";

/** The first bytes of a head. They are followed by the SHA-256 of the rest. */
const magic = Buffer.from("SGHEAD1\n");
const hashEnd = magic.length + 32;

/** Brotli quality. It is low because a head is written with every change. */
const quality = 4;

/** The largest head that is read, in bytes after decompression: far larger than any that is written. */
const largest = 256 << 20;

/** How a thread stands, as its head object says it. */
export interface Standing {
  /** The revision that this is of. Of another one it says nothing: an older version of this package wrote since. */
  readonly revision: number;
  /** Absent if it isn't known. */
  readonly status?: ThreadStatus | undefined;
  /** What the batches of pending writes of root checkpoints say of their tasks, oldest first. */
  readonly outcomes: readonly (readonly [
    checkpointId: string,
    batches: readonly (readonly [task: string, outcome: string])[],
  ])[];
}

/** A thread's head object, the only one of its objects that changes. */
export interface Head {
  readonly threadId: string;
  readonly revision: number;
  /** The writers of the last revisions, newest first. A writer whose put got no answer learns from them whether it was stored. */
  readonly writers: readonly string[];
  readonly deletedAt: number;
  readonly deleted: boolean;
  readonly removedAt: number;
  readonly evicted: boolean;
  /** Absent if the thread has no tags. Older versions of this package keep them unchanged. */
  readonly tags?: readonly ThreadTag[] | undefined;
  /** How the thread stands; absent if a version before it wrote the head. */
  readonly standing?: Standing | undefined;
  /** The id of the newest checkpoint, by namespace. */
  readonly heads: ReadonlyMap<string, string>;
  /** Oldest first. Entries of later packs replace those of earlier ones. */
  readonly packs: readonly PackRef[];
}

interface HeadJson extends EntriesJson {
  readonly v: 1;
  readonly head: Omit<Head, "heads"> & { readonly heads: readonly (readonly [string, string])[] };
}

/** @param tail entries that are in no pack yet. @param bytes their bytes, in the order of `placesOf` */
export async function encodeHead(head: Head, tail: Entries, bytes: readonly Uint8Array[]): Promise<Buffer> {
  const forms = bytes.map((each) => ({ bytes: each, recompression: 0 }));
  const json: HeadJson = { v: 1, head: { ...head, heads: [...head.heads] }, ...entriesToJson(tail, forms) };
  const text = Buffer.from(JSON.stringify(json));
  const sizes = Buffer.alloc(8);
  const content = Buffer.concat([text, ...bytes]);
  sizes.writeUInt32LE(content.length, 0);
  sizes.writeUInt32LE(text.length, 4);
  const rest = Buffer.concat([sizes, await compress(content, quality)]);
  return Buffer.concat([magic, createHash("sha256").update(rest).digest(), rest]);
}

/** @throws RangeError if the bytes aren't a head, or are damaged */
export async function decodeHead(bytes: Uint8Array): Promise<{ head: Head; tail: Entries }> {
  const object = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  if (object.length < hashEnd + 8 || !object.subarray(0, magic.length).equals(magic))
    throw new RangeError("it isn't the head of a thread, or a newer version wrote it");
  const rest = object.subarray(hashEnd);
  if (!createHash("sha256").update(rest).digest().equals(object.subarray(magic.length, hashEnd)))
    throw new RangeError("it has another SHA-256");
  const size = rest.readUInt32LE(0);
  if (size > largest) throw new RangeError(`it claims to hold ${size} bytes`);
  const content = await decompress(rest.subarray(8), size);
  const textEnd = rest.readUInt32LE(4);
  const json = JSON.parse(Buffer.from(content.subarray(0, textEnd)).toString()) as HeadJson;
  let at = textEnd;
  const tail = entriesFromJson(json, (length) => content.slice(at, (at += length)));
  return { head: { ...json.head, heads: new Map(json.head.heads) }, tail };
}
