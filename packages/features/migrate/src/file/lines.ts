import { StratigraphError } from "@stratigraph/core";
import type { SerializerProtocol } from "@langchain/langgraph-checkpoint";
import type { CallsOfThread } from "../contract/calls.ts";
import type { MixedUp } from "../contract/source.ts";

/** The first line of a file. */
export interface FirstLine {
  readonly format: typeof format;
  readonly version: number;
  /** The serializer of the values: "stratigraph", or the name of the class that was passed. */
  readonly serde: string;
}

/** Begins a thread. Each checkpoint of the outline follows on a line of its own. */
export interface ThreadLine {
  readonly thread: string;
  /** The head of each namespace. */
  readonly heads: Readonly<Record<string, string>>;
  /** Parents before their children. */
  readonly outline: readonly (readonly [
    namespace: string,
    id: string,
    parent: string | null,
    lostTo?: string | null,
    /** Ids of its batches, as far as they have any. */
    batches?: readonly string[],
  ])[];
  /** `hash` as that of a source's tag. */
  readonly tags?: readonly (readonly [key: string, value: string, hash?: string | null])[];
  /** As `openCalls` of a source's thread. */
  readonly openCalls?: readonly string[];
  /** Its calls that are in journals of other threads. */
  readonly elsewhere?: CallsOfThread;
  readonly mixedUp?: readonly MixedUp[];
}

/** A value as its serializer wrote it: JSON as it is, so that people can read it, other bytes as base64. */
export type Value = { readonly json: unknown } | { readonly type: string; readonly base64: string };

/** One checkpoint. */
export interface CheckpointLine {
  readonly checkpoint: {
    readonly namespace: string;
    readonly id: string;
    readonly run?: string;
    /** Version of the application's state; absent: 1. */
    readonly state?: number;
    /** The batches that it was made from; absent: all. */
    readonly made?: readonly [string, ...string[]];
    /** The terms of a record for which they don't follow from its content. */
    readonly terms?: readonly number[];
    /** LangGraph's checkpoint without the values. */
    readonly header: Readonly<Record<string, unknown>>;
    readonly metadata: Value;
    readonly values: Readonly<Record<string, Value>>;
    /** Channels whose value is that of the previous line, which is the parent's line if this list isn't empty. */
    readonly same: readonly string[];
    /** Pending writes by the calls that stored them. */
    readonly batches?: readonly {
      readonly task: string;
      readonly path?: string;
      /** The batch's id; absent if it has none. */
      readonly batch?: string;
      /** What rewind marks name it by; only beside such marks. */
      readonly name?: string;
      /** Best-effort channels whose writes were left out. */
      readonly omitted?: readonly string[];
      /** Version of the application's state; absent: 1. */
      readonly state?: number;
      /** True if its writes aren't those of the line to the head; absent: false. */
      readonly aside?: true;
      readonly writes: readonly { readonly index: number; readonly channel: string; readonly value: Value }[];
    }[];
    /** Pending writes in files of version 1. */
    readonly writes?: readonly {
      readonly task: string;
      readonly path?: string;
      readonly index?: number;
      /** Version of the application's state; absent: 1. */
      readonly state?: number;
      readonly channel: string;
      readonly value: Value;
    }[];
  };
}

/** Ends a thread. */
export interface ThreadEndLine {
  readonly threadEnd: string;
  /** Why the rest of the thread couldn't be read when it was exported. The part that is in the file isn't imported. */
  readonly failed?: string;
  /** The checksum of all lines of the thread before this one. */
  readonly sha256: string;
}

/** Ends a thread, or the file. The file's checksum is that of all lines before. */
export type EndLine =
  | ThreadEndLine
  | { readonly end: { readonly threads: number; readonly checkpoints: number }; readonly sha256: string };

export type Line = FirstLine | ThreadLine | CheckpointLine | EndLine;

/** Names the format in a file's first line. */
export const format = "stratigraph-threads";

/**
 * The version of the format that is written, and the newest that can be read. Version 1 had no records of reserved namespaces and one list
 * of pending writes for all children of a checkpoint: a reader of it would lose both in silence, so it has to refuse.
 */
export const formatVersion = 2;

/** The text of a value. JSON is inserted as the serializer wrote it. */
export async function valueText(serde: SerializerProtocol, value: unknown): Promise<string> {
  const [type, bytes] = await serde.dumpsTyped(value);
  if (type === "json") return `{"json":${Buffer.from(bytes).toString("utf8")}}`;
  return JSON.stringify({ type, base64: Buffer.from(bytes).toString("base64") });
}

/** The value that {@link valueText} wrote. */
export async function valueIn(serde: SerializerProtocol, value: Value): Promise<unknown> {
  if ("json" in value) return (await serde.loadsTyped("json", JSON.stringify(value.json))) as unknown;
  return (await serde.loadsTyped(value.type, Buffer.from(value.base64, "base64"))) as unknown;
}

/** The error for a file that isn't as it was written. */
export function damagedFile(path: string, what: string, cause?: unknown): StratigraphError {
  const message = `The file ${JSON.stringify(path)} is damaged: ${what}. Nothing of it was imported. Export the threads again.`;
  return new StratigraphError("CORRUPT", message, { path }, cause);
}
