// long file: the contract, which is mostly comments, is read as one piece
/**
 * The contract between the saver and a storage technology.
 *
 * A tier stores ids, bytes and records. It knows nothing of RunnableConfig, serialisers, TTL policy,
 * retries or logging. The contract is narrow, because its width decides the size of every backend:
 * reading (peek, read, list, threads, blobs), writing (append, appendWrites), and removing
 * (remove, evict, deleteThread).
 */

import type { ThreadStatus, WritesOutcome } from "./threadStatus.ts";

/** Names a blob by its content: 40 lower-case hex digits (SHA-256 of type and bytes, cut to 160 bits). */
export type BlobHash = string;

/** A namespace of a thread, which has one head. The root namespace is `""`. */
export interface Namespace {
  readonly threadId: string;
  readonly namespace: string;
}

/** One checkpoint. */
export interface Address extends Namespace {
  readonly checkpointId: string;
}

/** One checkpoint. If `checkpointId` is absent: the head of the namespace. */
export interface MaybeAddress extends Namespace {
  readonly checkpointId?: string | undefined;
}

/** Encoded bytes of one channel value: whole, or a patch on `base`. Immutable. */
export interface Blob {
  readonly hash: BlobHash;
  /** The blob that this one is a patch on; absent for a whole blob. */
  readonly base?: BlobHash | undefined;
  readonly bytes: Uint8Array;
}

/** A blob without its bytes, to decide which blobs are still needed. `size` in bytes. */
export interface BlobInfo {
  readonly hash: BlobHash;
  readonly base?: BlobHash | undefined;
  readonly size: number;
}

/** One checkpoint without the bytes of its channels. Immutable, except for `lostTo`. */
export interface CheckpointRecord extends Address {
  readonly parentId?: string | undefined;
  /** The run that wrote it, if the caller named one (`metadata.run_id`). */
  readonly runId?: string | undefined;
  /** Signed 32-bit hashes of the metadata's leaves: an index for filters, which are checked again after decoding. */
  readonly terms: readonly number[];
  /** Every blob that the manifest names (patch bases not included). */
  readonly blobs: readonly BlobHash[];
  /** Encoded header, metadata and manifest. */
  readonly body: Uint8Array;
  /** Set on a side branch: the head that won when this checkpoint was put. */
  readonly lostTo?: string | undefined;
}

/** What one task wrote in one `putWrites` call, encoded. */
export interface WriteBatch {
  readonly taskId: string;
  /** Blobs that the body refers to. */
  readonly blobs: readonly BlobHash[];
  readonly body: Uint8Array;
}

/** A batch as it is stored: `order` grows with every batch of the thread. */
export interface StoredWriteBatch extends WriteBatch {
  readonly order: number;
}

/** The state of a thread and of one of its namespaces: what can change. */
export interface ThreadState {
  /** Counts every change of the thread; 0 for a thread never written. */
  readonly revision: number;
  /** Id of the newest checkpoint of the namespace; absent if there is none. */
  readonly head?: string | undefined;
  /**
   * The namespace has no head, but a head was lost: the thread has begun, and there are checkpoints of the namespace's main line, or the
   * mark of an archived thread says that its root had a head. What an import under way brought doesn't count. Of subgraphs, a tier may look
   * only at the newest checkpoints.
   */
  readonly headless?: boolean | undefined;
  /** Set by a {@link CopyKeeper} if the head and its pending writes are a copy that may still be trusted. */
  readonly copy?: { readonly revision: number; readonly untilMs: number } | undefined;
}

/** Answer of {@link Tier.peek}. */
export interface Peek extends ThreadState {
  /** The checkpoint that was asked for, or else the head. Absent if the namespace has no head. */
  readonly checkpointId?: string | undefined;
  /** Pending writes of that checkpoint, oldest batch first. */
  readonly writes: readonly StoredWriteBatch[];
  /**
   * The checkpoint's record, if it is here and can be had without a second round trip. Saves a stack over this tier a query
   * per read.
   */
  readonly record?: CheckpointRecord | undefined;
}

/** One checkpoint as stored, with all that is needed to decode it. */
export interface StoredCheckpoint {
  readonly record: CheckpointRecord;
  /** At least the blobs of the record and the writes, with their patch bases. May hold more, as a page shares one map. */
  readonly blobs: ReadonlyMap<BlobHash, Blob>;
  readonly writes: readonly StoredWriteBatch[];
}

/** A checkpoint in a listing. */
export interface ListedCheckpoint extends StoredCheckpoint {
  /** Head of the checkpoint's namespace when the page was read. */
  readonly head?: string | undefined;
}

/** Answer of {@link Tier.read}. */
export interface Reading extends ThreadState {
  /** Absent if the checkpoint, or any blob that it needs, isn't here. */
  readonly checkpoint?: StoredCheckpoint | undefined;
  /** The checkpoint is archived, and the tier refuses writes that continue it (`restoreOn: "never"` of a stack). */
  readonly sealed?: boolean | undefined;
}

/** Which checkpoints {@link Tier.list} yields. All conditions must hold. */
export interface ListQuery {
  readonly threadId?: string | undefined;
  readonly namespace?: string | undefined;
  readonly checkpointId?: string | undefined;
  /** Only checkpoints whose id sorts before this one. */
  readonly before?: string | undefined;
  /** Only records that carry all of these terms. */
  readonly terms?: readonly number[] | undefined;
  readonly runIds?: readonly string[] | undefined;
  /** Only side branches (`lostTo` set). */
  readonly lost?: boolean | undefined;
  /** Without blobs: `StoredCheckpoint.blobs` is empty. Default false. */
  readonly recordsOnly?: boolean | undefined;
  /** At most this many. Also a hint for the page size. */
  readonly limit?: number | undefined;
}

/** A thread in {@link Tier.threads}. */
export interface ThreadInfo {
  readonly threadId: string;
  /** The thread's revision at some time between `writtenAtMs` and its next write. */
  readonly revision: number;
  /** Head of the root namespace. */
  readonly head?: string | undefined;
  /** When it was last written, to the minute or better. Milliseconds since 1970. */
  readonly writtenAtMs: number;
  /** Its bytes were evicted, as it was archived: only heads are here. */
  readonly evicted: boolean;
  /** From listThreads, of an archived thread: when it was archived. `writtenAtMs` is then when its head was made, if that is known. */
  readonly archivedAtMs?: number | undefined;
  /** From listThreads: its root's head is lost. See {@link ThreadState.headless}. */
  readonly headless?: boolean | undefined;
  /** How it stands, if {@link ThreadQuery.status} asked for it and the tier knows it. */
  readonly status?: ThreadStatus | undefined;
  /** Record of the root namespace's head, if {@link ThreadQuery.headTerms} asked for it and it costs the tier nothing more. */
  readonly headRecord?: CheckpointRecord | undefined;
}

/** Which threads {@link Tier.threads} yields. */
export interface ThreadQuery {
  /** Only threads last written before this instant. Milliseconds since 1970. */
  readonly writtenBeforeMs?: number | undefined;
  /** Go on after this thread (exclusive), as yielded by an earlier call with the same order. */
  readonly after?: ThreadInfo | undefined;
  /** Default "oldest": least recently written first. */
  readonly order?: "oldest" | "newest" | undefined;
  /** False leaves out evicted threads. Default true. */
  readonly includeEvicted?: boolean | undefined;
  /** Only threads that carry all of these tags. Only a {@link ThreadTagger} is asked for this. */
  readonly tags?: readonly ThreadTag[] | undefined;
  /**
   * Asks for `status`, and leaves out threads of which the tier knows another one. Threads whose status it doesn't know are yielded, without
   * `status`; so a tier without support yields them all. "unknown": only those.
   */
  readonly status?: ThreadStatus | "unknown" | undefined;
  /**
   * Asks for `headRecord`. A tier may leave out threads whose root head lacks one of these {@link CheckpointRecord.terms}. One that
   * doesn't support this yields them all, without `headRecord`.
   */
  readonly headTerms?: readonly number[] | undefined;
  /**
   * Called for each thread that is left out because the data that names it is damaged. Default: the first one ends the listing with its
   * error.
   */
  readonly onDamaged?: ((error: Error) => void) | undefined;
  /** At most this many are yielded; if there are fewer, these are all. Threads that are left out don't count. */
  readonly limit?: number | undefined;
}

/** A key and a value that a thread can be found by. Both are compared exactly, and have {@link maxTagBytes} bytes of UTF-8 at most. */
export interface ThreadTag {
  readonly key: string;
  readonly value: string;
}

/** Longest key and longest value of a {@link ThreadTag}, in bytes of UTF-8: an index row of PostgreSQL has to hold both. */
export const maxTagBytes = 1024;

/** Moves one head by compare-and-set. */
export interface HeadMove {
  readonly namespace: string;
  readonly to: string;
  /** Heads that the move may replace, besides `to` itself. A namespace without a head always gets one. "any": an import. */
  readonly expected: readonly string[] | "any";
}

/** One atomic write of records, blobs, pending writes and heads of one thread. */
export interface AppendRequest {
  readonly threadId: string;
  /** Parents come before children. A record with the id of a stored one replaces its body. */
  readonly records: readonly CheckpointRecord[];
  /** New blobs. One that is stored already stays unchanged. */
  readonly blobs: readonly Blob[];
  /**
   * Whether the request refers to blobs (by name, or as bases of patches) that it doesn't carry, because its writer last knew them to be
   * stored. The tier checks that: they may have been removed since, or the storage was restored to an older state.
   */
  readonly relies?: boolean | undefined;
  /**
   * Whether values of the records are rebuilt from those of their parents (DeltaChannels), which were there when the writer read them. A
   * tier that may lose a thread without a trace, by expiry or eviction, refuses the request if a parent is neither here nor carried.
   */
  readonly needsParents?: boolean | undefined;
  readonly writes?: readonly (Address & WriteBatch)[] | undefined;
  readonly heads: readonly HeadMove[];
  /**
   * What happens if a head may not move: "refuse" writes nothing and throws CheckpointConflictError; "branch" stores the
   * records with `lostTo` set and leaves the head. It is no conflict if the checkpoint is stored already, or is the parent of
   * the head, which overtook it: then it is stored, and the head stays.
   */
  readonly onConflict: "refuse" | "branch";
  /** The revision at which the writer last read this thread; absent if it never did. */
  readonly seen?: number | undefined;
}

/** Answer of {@link Tier.append}: for each head move, the head as it is now. */
export interface Appended {
  readonly revision: number;
  readonly heads: readonly { readonly namespace: string; readonly head: string; readonly moved: boolean }[];
}

/** Argument of {@link Tier.remove}. */
export interface RemoveRequest {
  readonly threadId: string;
  /** The revision that the decision was based on. */
  readonly revision: number;
  readonly checkpoints: readonly Address[];
  /** Blobs that nothing needs any more once the checkpoints are gone. */
  readonly dropBlobs: readonly BlobHash[];
  /** Blobs rewritten as whole ones, because their bases are dropped. They replace the stored ones. */
  readonly replaceBlobs: readonly Blob[];
  /** New heads of namespaces whose head is removed. `to` absent: nothing of the namespace is left. */
  readonly heads: readonly { readonly namespace: string; readonly to?: string | undefined }[];
}

/** Argument of {@link Tier.appendWrites}. */
export interface AppendWritesRequest extends Address, WriteBatch {
  /** What the batch says of its task, from which the tier knows the thread's status. Absent: the status isn't known then. */
  readonly outcome?: WritesOutcome | undefined;
  readonly newBlobs: readonly Blob[];
  /** As in {@link AppendRequest.relies}. */
  readonly relies?: boolean | undefined;
  /** As in {@link AppendRequest.seen}. */
  readonly seen?: number | undefined;
}

/**
 * One storage technology.
 *
 * Every tier promises: an acknowledged append is as durable as the technology makes it; nothing half-written is ever read; of two racing
 * appends one moves the head; repeating an append changes nothing; ids may be any text, are kept apart, and come back unchanged.
 */
export interface Tier {
  /** For messages and traces, e.g. "postgres". */
  readonly name: string;

  /** What remains of a deleted thread in this storage. Absent: nothing. */
  readonly remains?: readonly Remainder[] | undefined;

  /** The most bytes that one blob, body or batch may have if it is to be read back. Absent: no limit except that of values. */
  readonly maxBytes?: number | undefined;

  /** Whether it forgets threads by itself, to stay within limits. Then it can only be a hot tier, which holds copies. */
  readonly forgets?: boolean | undefined;

  /** Whether {@link peek} always delivers the record and costs less than {@link read}. A saver that remembers the values then peeks. */
  readonly peeksRecords?: boolean | undefined;

  /** Head and pending writes, which is all that can change, without blobs. One round trip. */
  peek(at: MaybeAddress): Promise<Peek>;

  /** A checkpoint with all blobs that it needs, and what {@link peek} answers. One round trip. */
  read(at: MaybeAddress): Promise<Reading>;

  /**
   * Checkpoints, thread by thread, and in each thread by descending checkpoint id, so newest first. Pages are fetched as they
   * are consumed; ending the iteration ends the fetching.
   */
  list(query: ListQuery): AsyncIterable<ListedCheckpoint>;

  /** Threads that have checkpoints, evicted ones among them. */
  threads(query: ThreadQuery): AsyncIterable<ThreadInfo>;

  /**
   * Every blob of a thread, without bytes.
   * @param only the blobs that are asked for. A tier may return others, too; it saves nothing then
   */
  blobs(threadId: string, only?: readonly BlobHash[]): Promise<readonly BlobInfo[]>;

  /**
   * Writes atomically and moves the heads.
   * @throws CheckpointConflictError under `onConflict: "refuse"`: nothing was written
   * @throws StratigraphError "CORRUPT" if it would begin a thread anew whose root head is lost: see {@link ThreadState.headless}
   * @throws ThreadDeletedError if the thread was deleted after `seen`, or is deleted and a head is to move to a record that has a parent
   * @throws StaleReadError with the thread's revision if that is earlier than `seen`, because the storage was restored to an older state.
   * Without the revision if `relies` is set and blobs were removed after `seen`, if a blob that it relies on isn't there, or if
   * `needsParents` is set and a parent isn't there. Nothing was written
   */
  append(request: AppendRequest): Promise<Appended>;

  /**
   * Adds pending writes; their checkpoint may not exist yet. Each call makes a revision of its own, as every change does.
   * @throws ThreadDeletedError, StaleReadError as {@link append}
   */
  appendWrites(request: AppendWritesRequest): Promise<void>;

  /** Removes checkpoints, their pending writes and blobs. False, and nothing is done, if the thread isn't at `revision`. */
  remove(request: RemoveRequest): Promise<boolean>;

  /** Drops records, writes and blobs, but keeps the heads. False, and nothing is done, if the thread isn't at `revision`. */
  evict(threadId: string, revision: number): Promise<boolean>;

  /** Deletes everything, heads too. Leaves a tombstone, also of a thread that isn't there, so that late writes don't bring it back. */
  deleteThread(threadId: string): Promise<void>;

  /** Creates what the storage needs, such as tables and folders. Safe to repeat, and from many processes at once. */
  setup?(): Promise<void>;

  /** One cheap round trip, to learn whether calls would be served now. @throws what a call would throw */
  ping?(): Promise<void>;

  /** Closes what this tier opened itself. May be called again. Calls made afterwards are refused with code "CLOSED". */
  end?(): Promise<void>;
}

/** Something about a deleted thread that outlives {@link Tier.deleteThread}. */
export interface Remainder {
  /** In a few words, such as "a tombstone with the thread's id". */
  readonly what: string;
  /** How long it remains, in milliseconds; absent if it doesn't disappear by itself. */
  readonly forMs?: number | undefined;
  /** What removes it, or what has to be done to remove it. */
  readonly removedBy: string;
}

/** How long a tier remembers a deletion, in milliseconds: longer than any run that could still write to the thread. */
export const tombstoneMs = 7 * 86_400_000;
