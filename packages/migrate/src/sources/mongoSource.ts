import type { Checkpoint, CheckpointMetadata, SerializerProtocol } from "@langchain/langgraph-checkpoint";
import { StratigraphSerializer } from "@stratigraph/core";
import { lastOfEach, parentsFirst } from "../contract/outline.ts";
import type {
  OutlineEntry,
  Plan,
  SourceCheckpoint,
  SourceThread,
  SourceWrite,
  ThreadSelection,
  ThreadSource,
} from "../contract/source.ts";
import { decoderOf, type Decode } from "./decode.ts";

/** The part of a `mongodb.Db` that is used. */
export interface MongoDatabase {
  collection(name: string): MongoCollection;
}

/** The part of a `mongodb.Collection` that is used. */
export interface MongoCollection {
  countDocuments(): Promise<number>;
  find(filter: object, options: object): MongoCursor;
}

/** The part of a `mongodb.FindCursor` that is used. */
export interface MongoCursor {
  sort(field: string, direction: 1 | -1): MongoCursor;
  limit(count: number): MongoCursor;
  toArray(): Promise<unknown[]>;
}

/** Options of {@link mongoSource}. */
export interface MongoSourceOptions {
  readonly database: MongoDatabase;
  /** The official saver's `checkpointCollectionName`. Default "checkpoints", as there. */
  readonly checkpoints?: string | undefined;
  /** The official saver's `checkpointWritesCollectionName`. Default "checkpoint_writes", as there. */
  readonly writes?: string | undefined;
  /** Default: Stratigraph's own, which reads LangGraph's format. Pass the one that the official saver had, if it had one. */
  readonly serde?: SerializerProtocol | undefined;
  /** Closes the client, where it was opened for this. */
  readonly close?: (() => Promise<void>) | undefined;
}

interface Collections {
  readonly checkpoints: MongoCollection;
  readonly writes: MongoCollection;
  readonly decode: Decode;
}

/** The collections of the official MongoDBSaver. Values are taken as the bytes that they are: the saver itself reads them as text. */
export function mongoSource(options: MongoSourceOptions): ThreadSource {
  const { database, checkpoints = "checkpoints", writes = "checkpoint_writes", close } = options;
  const collections: Collections = {
    checkpoints: database.collection(checkpoints),
    writes: database.collection(writes),
    decode: decoderOf(options.serde ?? new StratigraphSerializer()),
  };
  return {
    name: "the official MongoDBSaver",
    plan: () => planOf(collections),
    threads: (selection) => threadsOf(collections, selection),
    thread: (threadId) => threadOf(collections, threadId),
    close: async () => await close?.(),
  };
}

async function planOf(collections: Collections): Promise<Plan> {
  let threads = 0;
  for await (const _ of idsOf(collections, undefined)) threads += 1;
  return { threads, checkpoints: await collections.checkpoints.countDocuments() };
}

async function* threadsOf(
  collections: Collections,
  { threadIds, after }: ThreadSelection = {},
): AsyncGenerator<SourceThread> {
  for await (const threadId of threadIds ?? idsOf(collections, after)) {
    const thread = await threadOf(collections, threadId);
    if (thread !== undefined) yield thread;
  }
}

/** One look-up in the saver's index for each thread: `distinct` would have to fit into one document. */
async function* idsOf({ checkpoints }: Collections, after: string | undefined): AsyncGenerator<string> {
  for (let last = after; ;) {
    const filter = last === undefined ? {} : { thread_id: { $gt: last } };
    const [first] = (await checkpoints
      .find(filter, { projection: { thread_id: 1 } })
      .sort("thread_id", 1)
      .limit(1)
      .toArray()) as { readonly thread_id: string }[];
    if (first === undefined) return;
    last = first.thread_id;
    yield last;
  }
}

async function threadOf(collections: Collections, threadId: string): Promise<SourceThread | undefined> {
  const documents = (await collections.checkpoints
    .find(
      { thread_id: threadId },
      { projection: { checkpoint_ns: 1, checkpoint_id: 1, parent_checkpoint_id: 1 } },
    )
    .sort("checkpoint_id", 1)
    .toArray()) as {
    readonly checkpoint_ns: string;
    readonly checkpoint_id: string;
    readonly parent_checkpoint_id?: string | null;
  }[];
  if (documents.length === 0) return undefined;
  const entries: OutlineEntry[] = documents.map((document) => ({
    namespace: document.checkpoint_ns,
    checkpointId: document.checkpoint_id,
    parentId: document.parent_checkpoint_id ?? undefined,
  }));
  const outline = parentsFirst(entries);
  return {
    threadId,
    outline,
    heads: lastOfEach(entries),
    mixedUp: [],
    checkpoints: () => checkpointsOf(collections, threadId, outline),
    close: async () => undefined,
  };
}

async function* checkpointsOf(
  { checkpoints, writes, decode }: Collections,
  threadId: string,
  outline: readonly OutlineEntry[],
): AsyncGenerator<SourceCheckpoint> {
  for (const entry of outline) {
    const place = { thread_id: threadId, checkpoint_ns: entry.namespace, checkpoint_id: entry.checkpointId };
    const [document] = (await checkpoints.find(place, {}).limit(1).toArray()) as {
      readonly type: string;
      readonly checkpoint: StoredBytes;
      readonly metadata: StoredBytes;
    }[];
    if (document === undefined)
      throw new RangeError(`checkpoint ${entry.checkpointId} was removed while it was read`);
    const { type } = document;
    yield {
      ...entry,
      checkpoint: (await decode(type, bytesIn(document.checkpoint))) as Checkpoint,
      metadata: (await decode(type, bytesIn(document.metadata))) as CheckpointMetadata,
      writes: await writesOf(writes, decode, place),
    };
  }
}

async function writesOf(writes: MongoCollection, decode: Decode, place: object): Promise<SourceWrite[]> {
  const documents = (await writes.find(place, {}).sort("idx", 1).toArray()) as {
    readonly task_id: string;
    readonly idx: number;
    readonly channel: string;
    readonly type: string;
    readonly value: StoredBytes;
  }[];
  const found: SourceWrite[] = [];
  for (const { task_id, idx, channel, type, value } of documents)
    found.push({ taskId: task_id, index: idx, channel, value: await decode(type, bytesIn(value)) });
  return found;
}

/** Bytes as the driver gives them: a Binary, of which only the first `position` bytes count, or, if it was told so, a Buffer. */
type StoredBytes = Uint8Array | { readonly buffer: Uint8Array; readonly position: number };

function bytesIn(stored: StoredBytes): Uint8Array {
  return stored instanceof Uint8Array ? stored : stored.buffer.subarray(0, stored.position);
}
