import type { RunnableConfig } from "@langchain/core/runnables";
import type { Checkpoint, CheckpointMetadata } from "@langchain/langgraph-checkpoint";
import type { ConformingSaver } from "../clause.ts";
import { makeCheckpoint, makeMetadata } from "../fixtures.ts";

/** Calls as LangGraph's code and its tests make them, on a thread of their own. */
export interface Call {
  /** Where langgraphjs makes them: a file below `libs/`, and the names of the tests if it is a test file. */
  from: readonly string[];
  /** Makes the calls, and returns all their answers. */
  make(saver: ConformingSaver, thread: string): Promise<unknown>;
  /** What a saver has to answer. Default: what the official MemorySaver of the installed version answers. */
  instead?: {
    answer: unknown;
    /** Why savers aren't compared with the official MemorySaver, or with an older version of it. */
    reason: string;
  };
}

/** Calls by name. */
export type Calls = Readonly<Record<string, Call>>;

/** The nth of a thread's checkpoint ids, which are the same on every saver. */
export const idAt = (n: number): string => `1ef00000-0000-6000-8000-${String(n).padStart(12, "0")}`;

/** A checkpoint with the nth id, which is the same on every saver. */
export const checkpointAt = (n: number, parts: Partial<Checkpoint> = {}): Checkpoint =>
  makeCheckpoint({ id: idAt(n), ts: "2026-01-01T00:00:00.000Z", ...parts });

/** Calls `put` with all four arguments. Every channel is new, at version 1 if the checkpoint doesn't give one. */
export const putFour = (
  saver: ConformingSaver,
  config: RunnableConfig,
  checkpoint: Checkpoint,
  metadata: CheckpointMetadata = makeMetadata(),
): Promise<RunnableConfig> => {
  const counted = Object.keys(checkpoint.channel_values).map((channel) => [channel, 1]);
  const channel_versions = { ...Object.fromEntries(counted), ...checkpoint.channel_versions };
  return saver.put(config, { ...checkpoint, channel_versions }, metadata, channel_versions);
};

/** Calls `put` with three arguments, like subclasses that pass on only the arguments of the official MemorySaver. */
export const putThree = (
  saver: ConformingSaver,
  config: RunnableConfig,
  checkpoint: Checkpoint,
  metadata: CheckpointMetadata = makeMetadata(),
): Promise<RunnableConfig> => {
  const put = saver.put.bind(saver) as (...args: unknown[]) => Promise<RunnableConfig>;
  return put(config, checkpoint, metadata);
};
