import type { Checkpoint, CheckpointMetadata, SerializerProtocol } from "@langchain/langgraph-checkpoint";
import { StratigraphSerializer } from "@stratigraph/core";
import { lastOfEach, parentsFirst } from "../contract/outline.ts";
import type {
  OutlineEntry,
  Plan,
  SourceCheckpoint,
  SourceThread,
  SourceWrite,
  SourceSelection,
  ThreadSource,
} from "../contract/source.ts";
import { decoderOf, readAt, writeTo, type Decode } from "./decode.ts";
import { reaching } from "./sourceError.ts";

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
  /** The official saver's `checkpointCollectionName`. Default "checkpoints", as in that saver. */
  readonly checkpoints?: string | undefined;
  /** The official saver's `checkpointWritesCollectionName`. Default "checkpoint_writes", as in that saver. */
  readonly writes?: string | undefined;
  /** Default: Stratigraph's own, which reads LangGraph's format. If the official saver had a serde of its own, pass that. */
  readonly serde?: SerializerProtocol | undefined;
  /** Closes the client, if it was opened for this source. */
  readonly close?: (() => Promise<void>) | undefined;
}

const mongoName = "the official MongoDBSaver";

interface Collections {
  readonly checkpoints: MongoCollection;
  readonly writes: MongoCollection;
  readonly decode: Decode;
}

/** Reads the collections of the official MongoDBSaver. Values are read as bytes; the saver itself reads them as text. */
export function mongoSource(options: MongoSourceOptions): ThreadSource {
  const { database, checkpoints = "checkpoints", writes = "checkpoint_writes", close } = options;
  const collections: Collections = {
    checkpoints: database.collection(checkpoints),
    writes: database.collection(writes),
    decode: decoderOf(options.serde ?? new StratigraphSerializer()),
  };
  return {
    name: mongoName,
    plan: () => planOf(collections),
    threads: (selection) => threadsOf(collections, selection),
    thread: (threadId) => threadOf(collections, threadId),
    close: async () => await close?.(),
  };
}

async function planOf(collections: Collections): Promise<Plan> {
  let threads = 0;
  for await (const _ of idsOf(collections, undefined)) threads += 1;
  const count = () => collections.checkpoints.countDocuments();
  return { threads, checkpoints: await reaching(mongoName, count) };
}

async function* threadsOf(
  collections: Collections,
  { threadIds, after }: SourceSelection = {},
): AsyncGenerator<SourceThread> {
  for await (const threadId of threadIds ?? idsOf(collections, after)) {
    const thread = await threadOf(collections, threadId);
    if (thread !== undefined) yield thread;
  }
}

async function documentsOf<Document>(cursor: MongoCursor): Promise<Document[]> {
  return (await reaching(mongoName, () => cursor.toArray())) as Document[];
}

/** One look-up in the saver's index for each thread: the result of `distinct` would have to fit into one document. */
async function* idsOf({ checkpoints }: Collections, after: string | undefined): AsyncGenerator<string> {
  for (let last = after; ;) {
    const filter = last === undefined ? {} : { thread_id: { $gt: last } };
    const cursor = checkpoints.find(filter, { projection: { thread_id: 1 } }).sort("thread_id", 1);
    const [first] = await documentsOf<{ readonly thread_id: string }>(cursor.limit(1));
    if (first === undefined) return;
    last = first.thread_id;
    yield last;
  }
}

async function threadOf(collections: Collections, threadId: string): Promise<SourceThread | undefined> {
  const projection = { checkpoint_ns: 1, checkpoint_id: 1, parent_checkpoint_id: 1 };
  const documents = await documentsOf<{
    readonly checkpoint_ns: string;
    readonly checkpoint_id: string;
    readonly parent_checkpoint_id?: string | null;
  }>(collections.checkpoints.find({ thread_id: threadId }, { projection }).sort("checkpoint_id", 1));
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
    yield await readAt(mongoName, threadId, entry, async () => {
      const [document] = await documentsOf<{
        readonly type: string;
        readonly checkpoint: StoredBytes;
        readonly metadata: StoredBytes;
      }>(checkpoints.find(place, {}).limit(1));
      if (document === undefined) throw new RangeError("it was removed while the thread was read");
      const { type, checkpoint, metadata } = document;
      return {
        ...entry,
        checkpoint: (await decode("the checkpoint", type, bytesIn(checkpoint))) as Checkpoint,
        metadata: (await decode("the metadata", type, bytesIn(metadata))) as CheckpointMetadata,
        writes: await writesOf(writes, decode, place),
      };
    });
  }
}

async function writesOf(writes: MongoCollection, decode: Decode, place: object): Promise<SourceWrite[]> {
  const documents = await documentsOf<{
    readonly task_id: string;
    readonly idx: number;
    readonly channel: string;
    readonly type: string;
    readonly value: StoredBytes;
  }>(writes.find(place, {}).sort("idx", 1));
  const found: SourceWrite[] = [];
  for (const { task_id, idx, channel, type, value } of documents) {
    const decoded = await decode(writeTo(channel), type, bytesIn(value));
    found.push({ taskId: task_id, index: idx, channel, value: decoded });
  }
  return found;
}

/** Bytes as the driver returns them: a Binary, of which only the first `position` bytes count, or a Buffer if it is configured so. */
type StoredBytes = Uint8Array | { readonly buffer: Uint8Array; readonly position: number };

function bytesIn(stored: StoredBytes): Uint8Array {
  return stored instanceof Uint8Array ? stored : stored.buffer.subarray(0, stored.position);
}
