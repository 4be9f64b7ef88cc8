import { strict as assert } from "node:assert";
import { randomUUID } from "node:crypto";
import type { RunnableConfig } from "@langchain/core/runnables";
import {
  type Checkpoint,
  type CheckpointListOptions,
  type CheckpointMetadata,
  type CheckpointTuple,
  type ChannelVersions,
  uuid6,
} from "@langchain/langgraph-checkpoint";
import type { ConformingSaver } from "./clause.ts";

/** A thread id that no other clause uses. */
export const newThread = (): string => `conformance-${randomUUID()}`;

/** A config that addresses a thread, or one of its checkpoints. */
export const at = (
  threadId: string,
  { ns = "", id }: { ns?: string; id?: string | undefined } = {},
): RunnableConfig => ({
  configurable: {
    thread_id: threadId,
    checkpoint_ns: ns,
    ...(id === undefined ? {} : { checkpoint_id: id }),
  },
});

/** The checkpoint id in a config. */
export const idOf = (config: RunnableConfig | undefined): string => {
  const id: unknown = config?.configurable?.["checkpoint_id"];
  assert.equal(typeof id, "string", "a config without a checkpoint_id");
  return id as string;
};

/** A checkpoint with a new, time-ordered id. */
export const makeCheckpoint = (parts: Partial<Checkpoint> = {}): Checkpoint => ({
  v: 4,
  id: uuid6(0),
  ts: new Date().toISOString(),
  channel_values: {},
  channel_versions: {},
  versions_seen: {},
  ...parts,
});

/** Metadata like that which LangGraph's loop passes. */
export const makeMetadata = (parts: Record<string, unknown> = {}): CheckpointMetadata => ({
  source: "loop",
  step: 0,
  parents: {},
  ...parts,
});

/** What `putOne` stores. */
export interface PutParts {
  ns?: string;
  parent?: string | undefined;
  values?: Record<string, unknown>;
  /** The channel versions. Default: version 1 for every value. */
  versions?: ChannelVersions;
  /** The versions of channels that changed. Default: `versions`. */
  newVersions?: ChannelVersions;
  metadata?: Record<string, unknown>;
  checkpoint?: Partial<Checkpoint>;
}

/** Puts one checkpoint and returns the config that the saver returned. */
export const putOne = (
  saver: ConformingSaver,
  threadId: string,
  parts: PutParts = {},
): Promise<RunnableConfig> => {
  const values = parts.values ?? {};
  const versions = parts.versions ?? Object.fromEntries(Object.keys(values).map((channel) => [channel, 1]));
  const checkpoint = makeCheckpoint({
    channel_values: values,
    channel_versions: versions,
    ...parts.checkpoint,
  });
  const config = at(threadId, { ns: parts.ns ?? "", id: parts.parent });
  return saver.put(config, checkpoint, makeMetadata(parts.metadata), parts.newVersions ?? versions);
};

/** Puts a line of `count` checkpoints, step 0 first, each one the parent of the next. */
export const putLine = async (
  saver: ConformingSaver,
  threadId: string,
  count: number,
  parts: (step: number) => PutParts = () => ({}),
): Promise<RunnableConfig[]> => {
  const stored: RunnableConfig[] = [];
  for (let step = 0; step < count; step++) {
    const { metadata, ...rest } = parts(step);
    const last = stored.at(-1);
    const parent = last === undefined ? undefined : idOf(last);
    stored.push(await putOne(saver, threadId, { parent, ...rest, metadata: { step, ...metadata } }));
  }
  return stored;
};

/** Calls `putWrites` with the path of the task. LangGraph passes it since 1.5; the types of older versions don't have it. */
export const putWritesAt = async (
  saver: ConformingSaver,
  stored: RunnableConfig,
  writes: [string, unknown][],
  taskId: string,
  taskPath: string | undefined,
): Promise<void> => {
  const put: (...args: [RunnableConfig, [string, unknown][], string, string?]) => Promise<void> =
    saver.putWrites.bind(saver);
  await (taskPath === undefined ? put(stored, writes, taskId) : put(stored, writes, taskId, taskPath));
};

/** The config of a checkpoint's thread and namespace, without its id. */
export const threadOf = ({ configurable }: RunnableConfig): RunnableConfig =>
  at(String(configurable?.["thread_id"]), { ns: String(configurable?.["checkpoint_ns"] ?? "") });

/** Gets a tuple. Fails if there is none. */
export const mustGet = async (saver: ConformingSaver, config: RunnableConfig): Promise<CheckpointTuple> => {
  const tuple = await saver.getTuple(config);
  assert.ok(tuple, `no checkpoint at ${JSON.stringify(config.configurable)}`);
  return tuple;
};

/** All tuples that a list yields. */
export const listAll = async (
  saver: ConformingSaver,
  config: RunnableConfig,
  options?: CheckpointListOptions,
): Promise<CheckpointTuple[]> => {
  const found: CheckpointTuple[] = [];
  for await (const tuple of saver.list(config, options)) found.push(tuple);
  return found;
};

/** The checkpoint ids that a list yields, in order. */
export const listIds = async (
  saver: ConformingSaver,
  config: RunnableConfig,
  options?: CheckpointListOptions,
): Promise<string[]> => (await listAll(saver, config, options)).map((tuple) => tuple.checkpoint.id);

/** A tuple's pending writes as `[channel, value]`, in order. */
export const writesOf = (tuple: CheckpointTuple): [string, unknown][] =>
  (tuple.pendingWrites ?? []).map(([, channel, value]) => [channel, value]);
