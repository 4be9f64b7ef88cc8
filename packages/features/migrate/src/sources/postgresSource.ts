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
import { decoderOf, readAt, writeTo } from "./decode.ts";
import { mixedUpIn, type Versioned } from "./mixedUp.ts";
import {
  connected,
  postgresName,
  query,
  quoted,
  type SourceClient,
  type SourcePool,
  type Tables,
} from "./postgresTables.ts";
import { PostgresValues } from "./postgresValues.ts";

/** Options of {@link postgresSource}. */
export interface PostgresSourceOptions {
  readonly pool: SourcePool;
  /** The schema of the official saver's tables. Default "public", as there. */
  readonly schema?: string | undefined;
  /** Default: Stratigraph's own, which reads LangGraph's format. Pass the one that the official saver had, if it had one. */
  readonly serde?: SerializerProtocol | undefined;
  /** Closes the pool, if it was opened for this source. */
  readonly close?: (() => Promise<void>) | undefined;
}

/** How many rows a page has. */
const page = { threads: 500, outline: 5000, checkpoints: 50 };

/**
 * Reads the tables of the official PostgresSaver. Each thread is read in a transaction of its own, which is READ ONLY and sees one
 * snapshot, so that the official saver may continue to write meanwhile.
 */
export function postgresSource(options: PostgresSourceOptions): ThreadSource {
  const { pool, schema = "public", serde = new StratigraphSerializer(), close } = options;
  const tables: Tables = { pool, schema, decode: decoderOf(serde) };
  return {
    name: postgresName,
    plan: () => planOf(tables),
    threads: (selection) => threadsOf(tables, selection),
    thread: (threadId) => threadOf(tables, threadId),
    close: async () => await close?.(),
  };
}

async function withClient<T>(tables: Tables, work: (client: SourceClient) => Promise<T>): Promise<T> {
  const client = await connected(tables);
  try {
    const result = await work(client);
    client.release();
    return result;
  } catch (error) {
    client.release(true);
    throw error;
  }
}

async function planOf(tables: Tables): Promise<Plan> {
  type Row = { readonly threads: string; readonly checkpoints: string; readonly bytes: string };
  const names = ["checkpoints", "checkpoint_blobs", "checkpoint_writes"].map(
    (table) => `${quoted(tables.schema)}.${table}`,
  );
  const [row] = await withClient(tables, (client) => query<Row>(tables, client, "pgPlan", [names]));
  return {
    threads: Number(row!.threads),
    checkpoints: Number(row!.checkpoints),
    bytes: Number(row!.bytes),
  };
}

async function* threadsOf(
  tables: Tables,
  { threadIds, after }: SourceSelection = {},
): AsyncGenerator<SourceThread> {
  for await (const threadId of threadIds ?? idsOf(tables, after)) {
    const thread = await threadOf(tables, threadId);
    if (thread !== undefined) yield thread;
  }
}

async function* idsOf(tables: Tables, after: string | undefined): AsyncGenerator<string> {
  let last: string | null = after ?? null;
  for (;;) {
    const values = [last, page.threads];
    const rows: { readonly thread_id: string }[] = await withClient(tables, (client) =>
      query(tables, client, "pgThreads", values),
    );
    for (const { thread_id } of rows) yield thread_id;
    if (rows.length < page.threads) return;
    last = rows.at(-1)!.thread_id;
  }
}

/** @returns undefined if there is no such thread; then nothing is left open */
async function threadOf(tables: Tables, threadId: string): Promise<SourceThread | undefined> {
  const client = await connected(tables);
  try {
    await query(tables, client, "pgBegin");
    const entries = await outlineOf(tables, client, threadId);
    if (entries.length > 0) return await openedThread(tables, client, threadId, entries);
    await query(tables, client, "pgEnd");
    client.release();
    return undefined;
  } catch (error) {
    client.release(true);
    throw error;
  }
}

async function openedThread(
  tables: Tables,
  client: SourceClient,
  threadId: string,
  entries: readonly OutlineEntry[],
): Promise<SourceThread> {
  const outline = parentsFirst(entries);
  const versioned = (namespace: string, ids: readonly string[]) =>
    versionsOf(tables, client, threadId, namespace, ids);
  const mixedUp = await mixedUpIn(threadId, outline, versioned);
  let closed = false;
  return {
    threadId,
    outline,
    heads: lastOfEach(entries),
    mixedUp,
    checkpoints: () => checkpointsOf(tables, client, threadId, outline),
    close: async () => {
      if (closed) return;
      closed = true;
      try {
        await query(tables, client, "pgEnd");
        client.release();
      } catch {
        // Nothing was written, so a broken connection is simply discarded.
        client.release(true);
      }
    },
  };
}

async function outlineOf(tables: Tables, client: SourceClient, threadId: string): Promise<OutlineEntry[]> {
  type Row = {
    readonly checkpoint_ns: string;
    readonly checkpoint_id: string;
    readonly parent_checkpoint_id: string | null;
  };
  const entries: OutlineEntry[] = [];
  for (;;) {
    const last = entries.at(-1);
    const values = [threadId, last?.namespace ?? null, last?.checkpointId ?? null, page.outline];
    const rows = await query<Row>(tables, client, "pgOutline", values);
    for (const { checkpoint_ns, checkpoint_id, parent_checkpoint_id } of rows) {
      const parentId = parent_checkpoint_id ?? undefined;
      entries.push({ namespace: checkpoint_ns, checkpointId: checkpoint_id, parentId });
    }
    if (rows.length < page.outline) return entries;
  }
}

async function* versionsOf(
  tables: Tables,
  client: SourceClient,
  threadId: string,
  namespace: string,
  ids: readonly string[],
): AsyncGenerator<Versioned> {
  type Row = {
    readonly checkpoint_id: string;
    readonly versions: Readonly<Record<string, number | string>> | null;
    readonly source: string | null;
  };
  for (let from = 0; from < ids.length; from += page.outline) {
    const values = [threadId, namespace, ids.slice(from, from + page.outline)];
    for (const row of await query<Row>(tables, client, "pgVersions", values))
      yield {
        checkpointId: row.checkpoint_id,
        versions: row.versions ?? {},
        isCopy: row.source === "fork",
      };
  }
}

interface CheckpointRow {
  readonly checkpoint_id: string;
  readonly checkpoint: string;
  readonly metadata: string;
}

interface WriteRow {
  readonly checkpoint_id: string;
  readonly task_id: string;
  readonly idx: number;
  readonly channel: string;
  readonly type: string | null;
  readonly blob: Uint8Array;
}

async function* checkpointsOf(
  tables: Tables,
  client: SourceClient,
  threadId: string,
  outline: readonly OutlineEntry[],
): AsyncGenerator<SourceCheckpoint> {
  const values = new PostgresValues(tables, client, threadId);
  for (const batch of pagesOf(outline)) {
    const { namespace } = batch[0]!;
    const args = [threadId, namespace, batch.map(({ checkpointId }) => checkpointId)];
    const rows = new Map(
      (await query<CheckpointRow>(tables, client, "pgCheckpoints", args)).map((row) => [
        row.checkpoint_id,
        row,
      ]),
    );
    for (const entry of batch) {
      const row = rows.get(entry.checkpointId)!;
      yield await readAt(postgresName, threadId, entry, async () => ({
        ...entry,
        ...(await checkpointIn(tables, values, namespace, row)),
        writes: await writesOf(tables, client, threadId, entry),
      }));
    }
  }
}

async function checkpointIn(tables: Tables, values: PostgresValues, namespace: string, row: CheckpointRow) {
  const header = JSON.parse(row.checkpoint) as Omit<Checkpoint, "channel_values">;
  const versions = header.channel_versions ?? {};
  const { values: channel_values, lacking } = await values.of(namespace, versions);
  return {
    checkpoint: {
      ...header,
      channel_versions: versions,
      versions_seen: header.versions_seen ?? {},
      channel_values,
    },
    metadata: (await tables.decode("the metadata", "json", row.metadata)) as CheckpointMetadata,
    lacking,
  };
}

/** Splits the outline into pages; each has entries of one namespace only. */
function* pagesOf(outline: readonly OutlineEntry[]): Iterable<readonly OutlineEntry[]> {
  let batch: OutlineEntry[] = [];
  for (const entry of outline) {
    if (batch.length === page.checkpoints || (batch.length > 0 && batch[0]!.namespace !== entry.namespace)) {
      yield batch;
      batch = [];
    }
    batch.push(entry);
  }
  if (batch.length > 0) yield batch;
}

async function writesOf(
  tables: Tables,
  client: SourceClient,
  threadId: string,
  { namespace, checkpointId }: OutlineEntry,
): Promise<SourceWrite[]> {
  const args = [threadId, namespace, [checkpointId]];
  const writes: SourceWrite[] = [];
  for (const row of await query<WriteRow>(tables, client, "pgWrites", args)) {
    const value = await tables.decode(writeTo(row.channel), row.type, row.blob);
    writes.push({ taskId: row.task_id, index: row.idx, channel: row.channel, value });
  }
  return writes;
}
