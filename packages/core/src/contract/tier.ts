// long file: the contract, which is mostly comments, is read as one piece
/**
 * The contract between the saver and a storage technology.
 *
 * A tier moves ids, bytes and records. It knows nothing of RunnableConfig, serialisers, TTL policy,
 * retries or logging. Width of this contract decides the size of every backend, so it stays narrow:
 * reading (peek, read, list, threads, blobs), writing (append, appendWrites), and removing
 * (remove, evict, deleteThread).
 */

/** Names a blob by its content: 40 lower-case hex digits (SHA-256 of type and bytes, cut to 160 bits). */
export type BlobHash = string;

/** A namespace of a thread: the cell that has one head. The root namespace is `""`. */
export interface Namespace {
  readonly threadId: string;
  readonly namespace: string;
}

/** One checkpoint. */
export interface Address extends Namespace {
  readonly checkpointId: string;
}

/** One checkpoint, or the head of the namespace where `checkpointId` is absent. */
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

/** A blob without its bytes, for deciding what is still needed. `size` in bytes. */
export interface BlobInfo {
  readonly hash: BlobHash;
  readonly base?: BlobHash | undefined;
  readonly size: number;
}

/** One checkpoint without its channel bytes. Immutable, but for `lostTo`. */
export interface CheckpointRecord extends Address {
  readonly parentId?: string | undefined;
  /** The run that wrote it, where the caller named one (`metadata.run_id`). */
  readonly runId?: string | undefined;
  /** Signed 32-bit hashes of the metadata's leaves: an index for filters, checked again after decoding. */
  readonly tags: readonly number[];
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

/** What can change about a thread and one of its namespaces. */
export interface ThreadState {
  /** Counts every change of the thread; 0 for a thread never written. */
  readonly revision: number;
  /** Id of the newest checkpoint of the namespace; absent where there is none. */
  readonly head?: string | undefined;
  /** Set by a {@link CopyKeeper} where head and the head's pending writes are a copy that may still be believed. */
  readonly copy?: { readonly revision: number; readonly untilMs: number } | undefined;
}

/** Answer of {@link Tier.peek}. */
export interface Peek extends ThreadState {
  /** The checkpoint meant: the one asked for, or the head. Absent where the namespace has none. */
  readonly checkpointId?: string | undefined;
  /** Pending writes of that checkpoint, oldest batch first. */
  readonly writes: readonly StoredWriteBatch[];
  /**
   * The checkpoint's record, where it is here and telling it costs no second round trip. Spares a stack over this tier a
   * query per read.
   */
  readonly record?: CheckpointRecord | undefined;
}

/** One checkpoint as stored, with all that is needed to decode it. */
export interface StoredCheckpoint {
  readonly record: CheckpointRecord;
  /** At least the blobs of record and writes, with their patch bases; may hold more (shared by a page). */
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
  /** Absent where the checkpoint, or any blob it needs, is not here. */
  readonly checkpoint?: StoredCheckpoint | undefined;
}

/** Which checkpoints {@link Tier.list} yields. All conditions must hold. */
export interface ListQuery {
  readonly threadId?: string | undefined;
  readonly namespace?: string | undefined;
  readonly checkpointId?: string | undefined;
  /** Only checkpoints whose id sorts before this one. */
  readonly before?: string | undefined;
  /** Only records that carry all of these tags. */
  readonly tags?: readonly number[] | undefined;
  readonly runIds?: readonly string[] | undefined;
  /** Only side branches (`lostTo` set). */
  readonly lost?: boolean | undefined;
  /** Without blobs: `StoredCheckpoint.blobs` is empty. Default false. */
  readonly recordsOnly?: boolean | undefined;
  /** At most this many; also a hint for the page size. */
  readonly limit?: number | undefined;
}

/** A thread in {@link Tier.threads}. */
export interface ThreadInfo {
  readonly threadId: string;
  /** Not of before it was written at `writtenAtMs`, nor of after it was written again. */
  readonly revision: number;
  /** Head of the root namespace. */
  readonly head?: string | undefined;
  /** When it was last written, to the minute or better. Milliseconds since 1970. */
  readonly writtenAtMs: number;
  /** Its bytes were evicted: only heads are here. */
  readonly evicted: boolean;
  /** Record of the root namespace's head, where {@link ThreadQuery.headTags} asked for it and the tier has it at hand. */
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
  /** Default true. False leaves out evicted threads. */
  readonly includeEvicted?: boolean | undefined;
  /** Only threads that carry all of these. Asked of a {@link ThreadTagger} only. */
  readonly tags?: readonly ThreadTag[] | undefined;
  /**
   * Asks for `headRecord`. Threads whose root head is known to lack one of these {@link CheckpointRecord.tags} may be left out;
   * a tier that knows nothing of it yields them all, without `headRecord`.
   */
  readonly headTags?: readonly number[] | undefined;
  readonly limit?: number | undefined;
}

/** What a thread can be found by: text under a name. Compared exactly, both at most {@link maxTagBytes} bytes of UTF-8. */
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
  /** Heads from which the move is allowed, besides "none yet" and `to` itself. "any": an import. */
  readonly expected: readonly string[] | "any";
}

/** One atomic write of records, blobs, pending writes and heads of one thread. */
export interface AppendRequest {
  readonly threadId: string;
  /** Parents before children. A record with the id of a stored one replaces its body. */
  readonly records: readonly CheckpointRecord[];
  /** New blobs; one that is stored already is left as it is. */
  readonly blobs: readonly Blob[];
  /** The request needs blobs that it doesn't carry (named, or bases of its patches), believed stored at `seen`. */
  readonly relies?: boolean | undefined;
  readonly writes?: readonly (Address & WriteBatch)[] | undefined;
  readonly heads: readonly HeadMove[];
  /**
   * Where a head may not move: "refuse" writes nothing and throws CheckpointConflictError;
   * "branch" stores the records with `lostTo` set and leaves the head. It is no conflict where the
   * checkpoint is stored already, or is the parent of the head, which overtook it: it is stored, the head stays.
   */
  readonly onConflict: "refuse" | "branch";
  /** Revision at which the writer last read this thread; absent where it never did. */
  readonly seen?: number | undefined;
}

/** Answer of {@link Tier.append}: per head move, where the head stands now. */
export interface Appended {
  readonly revision: number;
  readonly heads: readonly { readonly namespace: string; readonly head: string; readonly moved: boolean }[];
}

/** Takes checkpoints out of a thread; see {@link Tier.remove}. */
export interface RemoveRequest {
  readonly threadId: string;
  /** The revision that the decision was based on. */
  readonly revision: number;
  readonly checkpoints: readonly Address[];
  /** Blobs nothing needs any more once the checkpoints are gone. */
  readonly dropBlobs: readonly BlobHash[];
  /** Blobs rewritten so that what is kept needs nothing of what goes. They replace the stored ones. */
  readonly replaceBlobs: readonly Blob[];
  /** New heads of namespaces whose head goes; `to` absent: the namespace ends. */
  readonly heads: readonly { readonly namespace: string; readonly to?: string | undefined }[];
}

/** Options of {@link Tier.appendWrites}. */
export interface AppendWritesRequest extends Address, WriteBatch {
  readonly newBlobs: readonly Blob[];
  /** As in {@link AppendRequest.relies}. */
  readonly relies?: boolean | undefined;
  /** As in {@link AppendRequest.seen}. */
  readonly seen?: number | undefined;
}

/**
 * One storage technology in its role.
 *
 * Promises every tier keeps: an acknowledged append is durable to the degree the technology is;
 * nothing half-written is ever read; two racing appends move a head once; repeating an append
 * changes nothing; ids of any text are kept apart and come back as they were.
 */
export interface Tier {
  /** For messages and traces, e.g. "postgres". */
  readonly name: string;

  /** What stays of a deleted thread in this storage. Absent: nothing. */
  readonly remains?: readonly Remainder[] | undefined;

  /** Most bytes of one blob, body or batch that can be read back. Absent: as many as a value may have. */
  readonly maxBytes?: number | undefined;

  /** {@link peek} always tells the record, and costs less than {@link read}: who has the values asks for no more. */
  readonly peeksRecords?: boolean | undefined;

  /** Head and pending writes: all that can change. One round trip, no blobs. */
  peek(at: MaybeAddress): Promise<Peek>;

  /** A record with every blob its manifest needs, and what {@link peek} tells. One round trip. */
  read(at: MaybeAddress): Promise<Reading>;

  /**
   * Checkpoints, newest first: by checkpoint id, descending, thread by thread. Pages are fetched as
   * they are consumed; ending the iteration ends the fetching.
   */
  list(query: ListQuery): AsyncIterable<ListedCheckpoint>;

  /** Threads that have checkpoints (also evicted ones). */
  threads(query: ThreadQuery): AsyncIterable<ThreadInfo>;

  /** Every blob of a thread, without bytes. */
  blobs(threadId: string): Promise<readonly BlobInfo[]>;

  /**
   * Writes atomically and moves the heads.
   * @throws CheckpointConflictError under `onConflict: "refuse"`: nothing was written
   * @throws ThreadDeletedError where the thread was deleted after `seen`, or was deleted and the record has a parent
   * @throws StaleReadError where `relies` is set and blobs were removed after `seen`
   */
  append(request: AppendRequest): Promise<Appended>;

  /**
   * Adds pending writes; their checkpoint may not exist yet.
   * @throws ThreadDeletedError, StaleReadError as {@link append}
   */
  appendWrites(request: AppendWritesRequest): Promise<void>;

  /** Takes checkpoints, their pending writes and blobs away; false (and nothing done) if the revision moved on. */
  remove(request: RemoveRequest): Promise<boolean>;

  /** Drops bytes but keeps heads; false (and nothing done) if the thread changed since `revision`. */
  evict(threadId: string, revision: number): Promise<boolean>;

  /** Drops everything, heads too, leaving a tombstone so that late writes don't bring the thread back. */
  deleteThread(threadId: string): Promise<void>;

  /** Makes the storage ready (tables, folders). Safe to repeat and to race. */
  setup?(): Promise<void>;

  /** One cheap round trip that tells whether calls would be served now. @throws what a call would throw */
  ping?(): Promise<void>;

  /** Closes what this tier opened itself. May be called again. Calls made afterwards are refused with code "CLOSED". */
  end?(): Promise<void>;
}

/** Something about a deleted thread that outlives {@link Tier.deleteThread}. */
export interface Remainder {
  /** In a few words, such as "a tombstone with the thread's id". */
  readonly what: string;
  /** For how long, in milliseconds; absent where nothing ends it by itself. */
  readonly forMs?: number | undefined;
  /** What takes it away, or what has to be done so that it goes. */
  readonly removedBy: string;
}

/** How long a tier remembers a deletion, in milliseconds: longer than any run that could still write to the thread. */
export const tombstoneMs = 7 * 86_400_000;
