import type { Checkpoint, CheckpointMetadata, SerializerProtocol } from "@langchain/langgraph-checkpoint";
import { StratigraphSerializer } from "@stratigraph/core";
import { sql } from "../embedded.ts";
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
import { sourceError } from "./sourceError.ts";

/** The part of a database of better-sqlite3, libsql or node:sqlite (Node 22.13 or newer) that is used. */
export interface SqliteDatabase {
  /** The types of all these drivers fit this, whatever their parameters are called. */
  prepare(text: string): { all(...values: never[]): unknown[] };
  exec(text: string): unknown;
}

/** Options of {@link sqliteSource}. */
export interface SqliteSourceOptions {
  /** An open database, best opened read-only. The contents of its -wal file count, too. */
  readonly database: SqliteDatabase;
  /** Default: Stratigraph's own, which reads LangGraph's format. If the official saver had a serde of its own, pass that. */
  readonly serde?: SerializerProtocol | undefined;
  /** Closes the database, if it was opened for this source. */
  readonly close?: (() => Promise<void>) | undefined;
}

const sqliteName = "the official SqliteSaver";

/** How many ids of threads one query returns at most. */
const pageOfThreads = 500;

/** Reads the file of the official SqliteSaver. Each thread is read in one transaction, so the saver may go on writing meanwhile. */
export function sqliteSource({
  database,
  serde = new StratigraphSerializer(),
  close,
}: SqliteSourceOptions): ThreadSource {
  const file: File = { database, decode: decoderOf(serde), snapshot: new Snapshot(database) };
  return {
    name: sqliteName,
    plan: async () => planOf(database),
    threads: (selection) => threadsOf(file, selection),
    thread: async (threadId) => threadOf(file, threadId),
    close: async () => await close?.(),
  };
}

interface File {
  readonly database: SqliteDatabase;
  readonly decode: Decode;
  readonly snapshot: Snapshot;
}

/** A transaction in which threads are read. There is one per connection: threads that are read at the same time share it. */
class Snapshot {
  readonly #database: SqliteDatabase;
  #readers = 0;

  constructor(database: SqliteDatabase) {
    this.#database = database;
  }

  begin(): void {
    if (this.#readers === 0) this.#exec(sql.liteBegin);
    this.#readers += 1;
  }

  end(): void {
    this.#readers -= 1;
    if (this.#readers === 0) this.#exec(sql.liteEnd);
  }

  #exec(text: string): void {
    try {
      this.#database.exec(text);
    } catch (error) {
      throw sourceError(sqliteName, error);
    }
  }
}

function rowsOf(
  database: SqliteDatabase,
  name: keyof typeof sql,
  values: readonly (string | number | null)[] = [],
): unknown[] {
  try {
    return database.prepare(sql[name]).all(...(values as never[]));
  } catch (error) {
    throw sourceError(sqliteName, error);
  }
}

function planOf(database: SqliteDatabase): Plan {
  const row = rowsOf(database, "litePlan")[0] as Plan;
  return { threads: Number(row.threads), checkpoints: Number(row.checkpoints), bytes: Number(row.bytes) };
}

async function* threadsOf(
  file: File,
  { threadIds, after }: SourceSelection = {},
): AsyncGenerator<SourceThread> {
  for (const threadId of threadIds ?? idsOf(file.database, after)) {
    const thread = threadOf(file, threadId);
    if (thread !== undefined) yield thread;
  }
}

function* idsOf(database: SqliteDatabase, after: string | undefined): Iterable<string> {
  let last: string | null = after ?? null;
  for (;;) {
    const rows = rowsOf(database, "liteThreads", [last, last, pageOfThreads]) as { thread_id: string }[];
    for (const { thread_id } of rows) yield thread_id;
    if (rows.length < pageOfThreads) return;
    last = rows.at(-1)!.thread_id;
  }
}

function threadOf(file: File, threadId: string): SourceThread | undefined {
  const { snapshot } = file;
  snapshot.begin();
  const entries = entriesOf(file, threadId);
  if (entries.length === 0) {
    snapshot.end();
    return undefined;
  }
  let closed = false;
  const outline = parentsFirst(entries);
  return {
    threadId,
    outline,
    heads: lastOfEach(entries),
    mixedUp: [],
    checkpoints: () => checkpointsOf(file, threadId, outline),
    close: async () => {
      if (!closed) snapshot.end();
      closed = true;
    },
  };
}

/** The entries of a thread. If they can't be read, the snapshot is released. */
function entriesOf({ database, snapshot }: File, threadId: string): OutlineEntry[] {
  try {
    return outlineOf(database, threadId);
  } catch (error) {
    snapshot.end();
    throw error;
  }
}

function outlineOf(database: SqliteDatabase, threadId: string): OutlineEntry[] {
  const rows = rowsOf(database, "liteOutline", [threadId]) as {
    readonly checkpoint_ns: string;
    readonly checkpoint_id: string;
    readonly parent_checkpoint_id: string | null;
  }[];
  return rows.map(({ checkpoint_ns, checkpoint_id, parent_checkpoint_id }) => ({
    namespace: checkpoint_ns,
    checkpointId: checkpoint_id,
    parentId: parent_checkpoint_id ?? undefined,
  }));
}

async function* checkpointsOf(
  file: File,
  threadId: string,
  outline: readonly OutlineEntry[],
): AsyncGenerator<SourceCheckpoint> {
  for (const entry of outline) {
    const place = [threadId, entry.namespace, entry.checkpointId] as const;
    const row = rowsOf(file.database, "liteCheckpoint", place)[0] as {
      readonly type: string | null;
      readonly checkpoint: Uint8Array | ArrayBuffer | string;
      readonly metadata: Uint8Array | ArrayBuffer | string;
    };
    yield await readAt(sqliteName, threadId, entry, async () => ({
      ...entry,
      checkpoint: (await file.decode("the checkpoint", row.type, row.checkpoint)) as Checkpoint,
      metadata: (await file.decode("the metadata", row.type, row.metadata)) as CheckpointMetadata,
      writes: await writesOf(file, place),
    }));
  }
}

async function writesOf(
  { database, decode }: File,
  place: readonly [string, string, string],
): Promise<SourceWrite[]> {
  const rows = rowsOf(database, "liteWrites", place) as {
    readonly task_id: string;
    readonly idx: number;
    readonly channel: string;
    readonly type: string | null;
    readonly value: Uint8Array | ArrayBuffer | string;
  }[];
  const writes: SourceWrite[] = [];
  for (const { task_id, idx, channel, type, value } of rows) {
    const decoded = await decode(writeTo(channel), type, value);
    writes.push({ taskId: task_id, index: Number(idx), channel, value: decoded });
  }
  return writes;
}
