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
import { decoderOf, readAt, valueOf, writeTo, type Decode } from "./decode.ts";
import { mixedUpIn, type Versioned } from "./mixedUp.ts";
import { reaching } from "./sourceError.ts";

/** Sends one command to a Redis that has RedisJSON, such as `(...args) => client.call(...args)` with ioredis. */
export type RedisCommand = (...args: [string, ...string[]]) => Promise<unknown>;

/** Options of {@link redisSource}. */
export interface RedisSourceOptions {
  readonly command: RedisCommand;
  /** Default: Stratigraph's own, which reads LangGraph's format. */
  readonly serde?: SerializerProtocol | undefined;
  /** Closes the client, if it was opened for this source. */
  readonly close?: (() => Promise<void>) | undefined;
}

/** What the official RedisSaver stores under `checkpoint:…`. */
interface CheckpointDocument {
  readonly thread_id: string;
  readonly checkpoint_ns: string;
  readonly checkpoint_id: string;
  readonly parent_checkpoint_id: string | null;
  readonly checkpoint: Checkpoint;
  readonly metadata: object & { readonly source?: unknown };
}

const redisName = "the official RedisSaver";

interface Keys {
  readonly command: RedisCommand;
  readonly decode: Decode;
}

/** By thread. */
type Index = ReadonlyMap<string, readonly OutlineEntry[]>;

/**
 * Reads the keys of the official RedisSaver with SCAN and JSON.GET. The saver's own `list` returns ten checkpoints if no limit is given,
 * and uses RediSearch, which has a limit of its own. Ids are taken from inside the documents, as keys are ambiguous if an id has a
 * colon. Redis has no snapshots: stop the old saver, or import again afterwards.
 */
export function redisSource({
  command,
  serde = new StratigraphSerializer(),
  close,
}: RedisSourceOptions): ThreadSource {
  const sent: RedisCommand = (...args) => reaching(redisName, () => command(...args));
  const keys: Keys = { command: sent, decode: decoderOf(serde) };
  return {
    name: redisName,
    plan: async (): Promise<Plan> => {
      const entries = [...(await indexOf(keys, "checkpoint:*")).values()];
      return { threads: entries.length, checkpoints: entries.reduce((sum, each) => sum + each.length, 0) };
    },
    threads: (selection) => threadsOf(keys, selection),
    thread: async (threadId) => {
      const index = await indexOf(keys, `checkpoint:${escaped(threadId)}:*`);
      const entries = index.get(threadId);
      return entries === undefined ? undefined : await threadOf(keys, threadId, entries);
    },
    close: async () => await close?.(),
  };
}

async function* threadsOf(
  keys: Keys,
  { threadIds, after }: SourceSelection = {},
): AsyncGenerator<SourceThread> {
  const index = await indexOf(keys, "checkpoint:*");
  for (const threadId of threadIds ?? [...index.keys()].sort()) {
    const entries = index.get(threadId);
    const isBefore = threadIds === undefined && after !== undefined && threadId <= after;
    if (entries !== undefined && !isBefore) yield await threadOf(keys, threadId, entries);
  }
}

/** Escapes text for a Redis pattern, so that it matches only itself. */
function escaped(text: string): string {
  return text.replaceAll(/[*?[\]\\^]/g, String.raw`\$&`);
}

async function indexOf({ command }: Keys, pattern: string): Promise<Index> {
  const found = new Set<string>();
  for (let cursor = "0"; ;) {
    // SCAN may return a key twice.
    const [next, page] = (await command("SCAN", cursor, "MATCH", pattern, "COUNT", "1000")) as [
      string,
      string[],
    ];
    for (const key of page) found.add(String(key));
    cursor = String(next);
    if (cursor === "0") break;
  }
  const index = new Map<string, OutlineEntry[]>();
  for (const key of found) {
    const document = await documentAt<CheckpointDocument>(command, key);
    if (document === undefined || typeof document.checkpoint_id !== "string") continue;
    const entries = index.get(document.thread_id) ?? [];
    entries.push({
      namespace: namespaceIn(document),
      checkpointId: document.checkpoint_id,
      parentId: document.parent_checkpoint_id ?? undefined,
    });
    index.set(document.thread_id, entries);
  }
  return index;
}

/** The document of a key; undefined if it expired meanwhile. */
async function documentAt<Document>(command: RedisCommand, key: string): Promise<Document | undefined> {
  const text = await command("JSON.GET", key);
  return text === null || text === undefined ? undefined : (JSON.parse(String(text)) as Document);
}

function namespaceIn({ checkpoint_ns }: Pick<CheckpointDocument, "checkpoint_ns">): string {
  return checkpoint_ns === "__empty__" ? "" : checkpoint_ns;
}

async function threadOf(
  keys: Keys,
  threadId: string,
  unordered: readonly OutlineEntry[],
): Promise<SourceThread> {
  const entries = unordered.toSorted((a, b) =>
    `${a.namespace}\0${a.checkpointId}` < `${b.namespace}\0${b.checkpointId}` ? -1 : 1,
  );
  const outline = parentsFirst(entries);
  const mixedUp = await mixedUpIn(threadId, outline, (namespace, ids) =>
    versionsOf(keys, threadId, namespace, ids),
  );
  return {
    threadId,
    outline,
    heads: lastOfEach(entries),
    mixedUp,
    checkpoints: () => checkpointsOf(keys, threadId, outline),
    close: async () => undefined,
  };
}

function keyOf(threadId: string, { namespace, checkpointId }: OutlineEntry): string {
  return `checkpoint:${threadId}:${namespace}:${checkpointId}`;
}

async function* versionsOf(
  { command }: Keys,
  threadId: string,
  namespace: string,
  ids: readonly string[],
): AsyncGenerator<Versioned> {
  for (const checkpointId of ids) {
    const key = keyOf(threadId, { namespace, checkpointId });
    const document = await documentAt<CheckpointDocument>(command, key);
    if (document === undefined) continue;
    const versions = (document.checkpoint as Checkpoint | undefined)?.channel_versions ?? {};
    yield { checkpointId, versions, isCopy: document.metadata?.source === "fork" };
  }
}

async function* checkpointsOf(
  keys: Keys,
  threadId: string,
  outline: readonly OutlineEntry[],
): AsyncGenerator<SourceCheckpoint> {
  /** For each namespace, the values of the last checkpoint, by channel and version. */
  const last = new Map<string, ReadonlyMap<string, unknown>>();
  for (const entry of outline)
    yield await readAt(redisName, threadId, entry, async () => {
      const document = await documentAt<CheckpointDocument>(keys.command, keyOf(threadId, entry));
      if (document === undefined) throw new RangeError("it expired while the thread was read");
      const { decode } = keys;
      const text = JSON.stringify(document.checkpoint);
      const checkpoint = (await decode("the checkpoint", "json", text)) as Checkpoint;
      const known = last.get(entry.namespace);
      last.set(entry.namespace, await addValues(keys, threadId, entry.namespace, checkpoint, known));
      const metadata = await decode("the metadata", "json", JSON.stringify(document.metadata));
      return {
        ...entry,
        checkpoint,
        metadata: metadata as CheckpointMetadata,
        writes: await writesOf(keys, threadId, entry),
      };
    });
}

/**
 * Adds the values that a checkpoint's document lacks.
 * @param known values of the previous checkpoint, by channel and version
 * @returns the values of this checkpoint, by channel and version
 */
async function addValues(
  keys: Keys,
  threadId: string,
  namespace: string,
  checkpoint: Checkpoint,
  known: ReadonlyMap<string, unknown> | undefined,
): Promise<ReadonlyMap<string, unknown>> {
  const values = new Map<string, unknown>();
  for (const [channel, version] of Object.entries(checkpoint.channel_versions ?? {})) {
    const name = JSON.stringify([channel, version]);
    const value = Object.hasOwn(checkpoint.channel_values ?? {}, channel)
      ? checkpoint.channel_values[channel]
      : known?.has(name) === true
        ? known.get(name)
        : await storedValue(keys, threadId, namespace, channel, String(version));
    values.set(name, value);
    if (value !== undefined) (checkpoint.channel_values ??= {})[channel] = value;
  }
  return values;
}

async function storedValue(
  { command, decode }: Keys,
  threadId: string,
  namespace: string,
  channel: string,
  version: string,
): Promise<unknown> {
  const key = `checkpoint_blob:${threadId}:${namespace}:${channel}:${version}`;
  const document = await documentAt<{ readonly value?: unknown }>(command, key);
  if (document?.value === undefined) return undefined;
  return await decode(valueOf(channel), "json", JSON.stringify(document.value));
}

interface WriteDocument {
  readonly task_id: string;
  readonly idx: number;
  readonly channel: string;
  readonly value?: unknown;
}

async function writesOf(
  { command, decode }: Keys,
  threadId: string,
  { namespace, checkpointId }: OutlineEntry,
): Promise<SourceWrite[]> {
  const set = `write_keys_zset:${threadId}:${namespace}:${checkpointId}`;
  const writes: SourceWrite[] = [];
  for (const key of (await command("ZRANGE", set, "0", "-1")) as unknown[]) {
    const document = await documentAt<WriteDocument>(command, String(key));
    if (document === undefined) continue;
    const { task_id, idx, channel, value } = document;
    const decoded =
      value === undefined ? undefined : await decode(writeTo(channel), "json", JSON.stringify(value));
    writes.push({ taskId: task_id, index: idx, channel, value: decoded });
  }
  return writes;
}
