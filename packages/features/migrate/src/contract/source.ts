import type { Checkpoint, CheckpointMetadata } from "@langchain/langgraph-checkpoint";
import type { Consumed, RevivedBatch } from "@stratigraph/core/internal";
import type { ThreadTag } from "@stratigraph/core/tier";
import type { CallsElsewhere } from "./calls.ts";

/** What is about to be copied. Counts may be a moment old. */
export interface Plan {
  readonly threads: number;
  /** Absent if counting would mean reading all of them. */
  readonly checkpoints?: number | undefined;
  /** The size of the source in bytes; absent if it isn't known. */
  readonly bytes?: number | undefined;
}

/** A checkpoint's place in its thread. */
export interface OutlineEntry {
  readonly namespace: string;
  readonly checkpointId: string;
  readonly parentId?: string | undefined;
  /** If the checkpoint is on a side branch, the head that won the race. */
  readonly lostTo?: string | undefined;
  /** What its {@link SourceCheckpoint.batches} are known by, as far as they have ids; absent if the source keeps no batches. */
  readonly batchIds?: readonly string[] | undefined;
}

/** A call of putWrites as a storage of Stratigraph keeps it, or a rewind mark: docs/format.md. */
export interface SourceBatch extends RevivedBatch {
  /** Whether its writes are among the checkpoint's `writes`. */
  readonly counts: boolean;
}

/** A tag of a thread. */
export interface SourceTag extends ThreadTag {
  /** Tells the hash key if the value is only known as a keyed hash; null: it is plain text; absent: the source doesn't tell. */
  readonly hash?: string | null | undefined;
}

/** A pending write. */
export interface SourceWrite {
  readonly taskId: string;
  /** LangGraph's path of the task; absent if the source doesn't keep it. */
  readonly taskPath?: string | undefined;
  /** Its position among the writes of its task; absent if the source doesn't give it. */
  readonly index?: number | undefined;
  readonly channel: string;
  readonly value: unknown;
  /** The version of the application's state that it was written under. Default: 1, as sources that keep none. */
  readonly stateVersion?: number | undefined;
}

/** A checkpoint with everything that belongs to it, decoded. Don't change the values: several checkpoints may share them. */
export interface SourceCheckpoint extends OutlineEntry {
  /** As it is stored: older formats aren't converted. */
  readonly checkpoint: Checkpoint;
  readonly metadata: CheckpointMetadata;
  /** The pending writes; if there is a newer checkpoint on the line to the head, those that it was made from. */
  readonly writes: readonly SourceWrite[];
  /** All batches of pending writes, if the source is Stratigraph's: each child has its own, which `consumed` names. */
  readonly batches?: readonly SourceBatch[] | undefined;
  /** The batches of its parent that it was made from, as docs/format.md has them; undefined: all. */
  readonly consumed?: Consumed;
  /** The terms of its record, where they don't follow from its content. */
  readonly terms?: readonly number[] | undefined;
  /** The version of the application's state that it was written under. Default: 1, as sources that keep none. */
  readonly stateVersion?: number | undefined;
  /** The id of the run that wrote it, if the source keeps it outside the metadata. */
  readonly runId?: string | undefined;
  /**
   * Channels that have a version in the source but no stored value, so that the checkpoint lacks it. Each is listed only at the first
   * checkpoint that has the version.
   */
  readonly lacking?: readonly string[] | undefined;
}

/**
 * A checkpoint whose values may be those of another branch. The official PostgresSaver and RedisSaver store a value under its channel's
 * version, which is a number. Two branches that both continue from one checkpoint use the same numbers, and only the values of the
 * first are kept. Those of the second are lost.
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
 * One thread of a source, as it was at one moment. Close it before you ask for the next one.
 * A source that can't read as of one moment has {@link isUnchanged}.
 */
export interface SourceThread {
  readonly threadId: string;
  /** Every checkpoint, parents before their children. From Stratigraph: also the records of its reserved namespaces, such as calls. */
  readonly outline: readonly OutlineEntry[];
  /** The head of each namespace. */
  readonly heads: ReadonlyMap<string, string>;
  readonly mixedUp: readonly MixedUp[];
  readonly tags?: readonly SourceTag[] | undefined;
  /** The newest version of the application's state in it; absent: not known before it is read. */
  readonly newestState?: number | undefined;
  /** The calls of its journal that only the journal keeps from being made again, in words; absent if the source has no journal. */
  readonly openCalls?: readonly string[] | undefined;
  /**
   * The calls that are in other journals than those of the threads whose runs made them (`configurable.journal`): those of its runs; if all
   * threads are read, those in its journal. Absent if the source has no journals.
   */
  elsewhere?(): Promise<CallsElsewhere>;
  /** The checkpoints, in the order of the outline, one at a time. */
  checkpoints(): AsyncIterable<SourceCheckpoint>;
  /**
   * Called after the checkpoints were read. Returns whether the source still has exactly these, so that they are the state of one
   * moment. Absent if the source reads a snapshot, or if nobody writes to it.
   */
  isUnchanged?(): Promise<boolean>;
  /** True if the checkpoints can be read only once, as in a file. */
  readonly once?: boolean | undefined;
  close(): Promise<void>;
}

/** Which threads a source yields. */
export interface SourceSelection {
  /** Continue after this thread: the `cursor` of an earlier report. */
  readonly after?: string | undefined;
  /** Only these threads. */
  readonly threadIds?: readonly string[] | undefined;
}

/** Where threads come from. */
export interface ThreadSource {
  /** The name for messages, without secrets: "the official PostgresSaver". */
  readonly name: string;
  /** Returns what can be copied. */
  plan(): Promise<Plan>;
  /** The threads, always in the same order, so that `after` can continue. */
  threads(selection?: SourceSelection): AsyncIterable<SourceThread>;
  /** One thread; undefined if there is none. The method is absent if the source can only be read from its beginning. */
  thread?(threadId: string): Promise<SourceThread | undefined>;
  /** Closes what was opened here. May be called again. */
  close(): Promise<void>;
}
