import type { Checkpoint, CheckpointMetadata } from "@langchain/langgraph-checkpoint";

/** What is about to be copied. Counts may be a moment old. */
export interface Plan {
  readonly threads: number;
  /** Absent where all of them would have to be read to be counted. */
  readonly checkpoints?: number | undefined;
  /** What the source occupies, in bytes; absent where it can't tell. */
  readonly bytes?: number | undefined;
}

/** A checkpoint's place in its thread. */
export interface OutlineEntry {
  readonly namespace: string;
  readonly checkpointId: string;
  readonly parentId?: string | undefined;
}

/** A pending write. */
export interface SourceWrite {
  readonly taskId: string;
  /** LangGraph's path of the task; absent where the source doesn't keep it. */
  readonly taskPath?: string | undefined;
  /** Its position among the writes of its task; absent where the source doesn't tell. */
  readonly index?: number | undefined;
  readonly channel: string;
  readonly value: unknown;
}

/** A checkpoint with everything that belongs to it, decoded. Nobody changes the values: several checkpoints may share them. */
export interface SourceCheckpoint extends OutlineEntry {
  /** As it is stored: older formats aren't converted. */
  readonly checkpoint: Checkpoint;
  readonly metadata: CheckpointMetadata;
  readonly writes: readonly SourceWrite[];
  /** Of a side branch: the head that won. */
  readonly lostTo?: string | undefined;
  /** The run that wrote it, where it is kept apart from the metadata. */
  readonly runId?: string | undefined;
  /**
   * Channels whose value the source names by a version and doesn't have, so that the checkpoint lacks it. Each is told at the first
   * checkpoint that has the version.
   */
  readonly lacking?: readonly string[] | undefined;
}

/**
 * A checkpoint whose values may be those of another branch. The official PostgresSaver and RedisSaver store a value under its channel's
 * version, which is a number. Two branches that both continue from one checkpoint use the same numbers, and only the first one's
 * values are kept. Nothing tells what the second one's values were.
 */
export interface MixedUp {
  readonly threadId: string;
  readonly namespace: string;
  readonly checkpointId: string;
  /** The oldest checkpoint that has values under the same versions. */
  readonly sharesWith: string;
  /** The channels whose value is in doubt. */
  readonly channels: readonly string[];
}

/**
 * One thread of a source, as it was at one moment. Close it before the next one is asked for.
 * A source that can't show one moment has {@link isUnchanged}.
 */
export interface SourceThread {
  readonly threadId: string;
  /** Every checkpoint, parents before their children. */
  readonly outline: readonly OutlineEntry[];
  /** The head of each namespace. */
  readonly heads: ReadonlyMap<string, string>;
  readonly mixedUp: readonly MixedUp[];
  /** The checkpoints, in the order of the outline, one at a time. */
  checkpoints(): AsyncIterable<SourceCheckpoint>;
  /**
   * Asked once the checkpoints were read: whether the source still has what was read, so that it is what it had at one moment. Absent
   * where it reads a snapshot, or nobody writes to it.
   */
  isUnchanged?(): Promise<boolean>;
  /** Set where the checkpoints can be read once only, as in a file. */
  readonly once?: boolean | undefined;
  close(): Promise<void>;
}

/** Which threads a source yields. */
export interface SourceSelection {
  /** Go on after this thread: the `cursor` of an earlier report. */
  readonly after?: string | undefined;
  /** Only these threads. */
  readonly threadIds?: readonly string[] | undefined;
}

/** Where threads come from. */
export interface ThreadSource {
  /** For messages, without secrets: "the official PostgresSaver". */
  readonly name: string;
  /** What there is. */
  plan(): Promise<Plan>;
  /** Threads in an order that stays the same, so that `after` can go on. */
  threads(selection?: SourceSelection): AsyncIterable<SourceThread>;
  /** One thread; undefined where there is none. Absent where a source can only be read from its beginning. */
  thread?(threadId: string): Promise<SourceThread | undefined>;
  /** Closes what was opened here. May be called again. */
  close(): Promise<void>;
}
