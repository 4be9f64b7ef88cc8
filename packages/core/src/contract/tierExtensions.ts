import type {
  Address,
  AppendRequest,
  Blob,
  BlobHash,
  CheckpointRecord,
  Namespace,
  StoredCheckpoint,
  StoredWriteBatch,
  ThreadTag,
  Tier,
} from "./tier.ts";

// What a tier may be able to do beyond its contract: each an interface, with a function that tells whether a tier has it.

/** Fast path: ancestors of a checkpoint in one round trip (LangGraph's DeltaChannel). */
export interface AncestryReader {
  /**
   * The parent chain of a checkpoint, nearest first, without the checkpoint itself. Blobs are there
   * only for records that carry one of `seedTags`; the walk ends when each seed tag was met once.
   */
  ancestry(at: Address, seedTags: readonly number[], limit: number): Promise<readonly StoredCheckpoint[]>;
}

/** Whether a tier has the {@link AncestryReader} fast path. */
export function readsAncestry(tier: Tier): tier is Tier & AncestryReader {
  return typeof (tier as Partial<AncestryReader>).ancestry === "function";
}

/** Fast path: copies a thread inside the storage. */
export interface ThreadCopier {
  /** Same checkpoint ids, order, side branches and pending writes. False where the source has none. */
  copyThread(sourceId: string, targetId: string): Promise<boolean>;
}

/** Whether a tier has the {@link ThreadCopier} fast path. */
export function copiesThreads(tier: Tier): tier is Tier & ThreadCopier {
  return typeof (tier as Partial<ThreadCopier>).copyThread === "function";
}

/** Where a thread stands, without blobs. */
export interface ThreadOutline {
  readonly revision: number;
  /** The root checkpoint that was asked for; absent where it isn't here. */
  readonly checkpoint?: StoredCheckpoint | undefined;
  /** Whether checkpoints were made from it. */
  readonly continued: boolean;
  /** The heads of all namespaces; those whose record isn't here are left out. */
  readonly heads: readonly StoredCheckpoint[];
}

/** A namespace of a thread that is to be forked, and how much of it goes along. */
export interface ForkTip {
  readonly namespace: string;
  /** Becomes the namespace's head. */
  readonly checkpointId: string;
  /** Which of its pending writes go along, by their place among them, oldest first; 0 is the oldest. */
  readonly writes: readonly number[];
  /** How many ancestors go along at most, with all their pending writes. */
  readonly ancestors: number;
  /** No more ancestors once each of these tags was met. */
  readonly until?: readonly number[] | undefined;
}

/** What {@link ThreadForker.forkThread} copies. */
export interface ForkRequest {
  readonly sourceId: string;
  readonly targetId: string;
  /** Revision of the source's outline: nothing may have been removed since. */
  readonly seen: number;
  readonly tips: readonly ForkTip[];
  /** Written with the copy, to other namespaces. */
  readonly also: Pick<AppendRequest, "records" | "blobs" | "heads">;
}

/** Fast path: makes a thread out of a part of another one, inside the storage. No value leaves it. */
export interface ThreadForker {
  /** One round trip. Default `checkpointId`: the root head. Undefined where the thread can't be forked by {@link forkThread}. */
  outline(threadId: string, checkpointId?: string): Promise<ThreadOutline | undefined>;

  /**
   * Copies the tips with what they name, under their ids, as main line. Atomic; one round trip.
   * @returns how much was copied (bytes of bodies and blobs); undefined, and nothing done, where a part of it isn't
   * here, or was removed after `seen`
   * @throws StratigraphError "THREAD_EXISTS" where the target has a head: nothing was written
   */
  forkThread(
    request: ForkRequest,
  ): Promise<{ readonly checkpoints: number; readonly bytes: number } | undefined>;
}

/** Whether a tier has the {@link ThreadForker} fast path. */
export function forksThreads(tier: Tier): tier is Tier & ThreadForker {
  return typeof (tier as Partial<ThreadForker>).forkThread === "function";
}

/** One namespace as the tier that owns its thread has it. */
export interface NamespaceCopy extends Namespace {
  /** The owner's revision at which it was so. */
  readonly revision: number;
  /** Absent where the namespace has no head. */
  readonly head?: string | undefined;
  /** All pending writes of the head. */
  readonly writes: readonly StoredWriteBatch[];
  /** The head's record; absent to leave the one that is here. */
  readonly record?: CheckpointRecord | undefined;
  /** Blobs to add. */
  readonly blobs: readonly Blob[];
  /** Until when it may be answered without asking the owner. Milliseconds since 1970. */
  readonly untilMs: number;
}

/**
 * A tier that can stand in for the owner of a thread for a while: what the hot tier of a stack needs under
 * `consistency: "trusted"`. `peek` and `read` of a namespace that was adopted set `copy` in their answer, until `untilMs`,
 * until `invalidate`, and until any other write of this tier moves the namespace's head or adds pending writes to it.
 */
export interface CopyKeeper {
  /**
   * Replaces head and pending writes of a namespace. Nothing is done where a copy of a later revision was adopted, or where
   * `invalidate` named a later one. Tombstones don't matter.
   */
  adopt(copy: NamespaceCopy): Promise<void>;

  /** No copy of the thread is believed from now on; those of revisions before `before` (default 0) can't be adopted later either. */
  invalidate(threadId: string, before?: number): Promise<void>;
}

/** Whether a tier is a {@link CopyKeeper}. */
export function keepsCopies(tier: Tier): tier is Tier & CopyKeeper {
  return typeof (tier as Partial<CopyKeeper>).adopt === "function";
}

/** A tier that can see to it that one worker at a time does something, across processes. */
export interface LeaseKeeper {
  /**
   * Takes or prolongs the lease called `name` for `forMs` milliseconds. False where another holder has it. `forMs` 0 gives
   * it back.
   */
  lease(name: string, holder: string, forMs: number): Promise<boolean>;
}

/** Whether a tier is a {@link LeaseKeeper}. */
export function keepsLeases(tier: Tier): tier is Tier & LeaseKeeper {
  return typeof (tier as Partial<LeaseKeeper>).lease === "function";
}

/** A tier that can delete a thread unless somebody wrote to it. Deleting by age needs it: nobody is asked then. */
export interface UnchangedDeleter {
  /** As {@link Tier.deleteThread}, if the thread is still at `revision`; else false, and nothing is done. Atomic. */
  deleteUnchanged(threadId: string, revision: number): Promise<boolean>;
}

/** Whether a tier is an {@link UnchangedDeleter}. */
export function deletesUnchanged(tier: Tier): tier is Tier & UnchangedDeleter {
  return typeof (tier as Partial<UnchangedDeleter>).deleteUnchanged === "function";
}

/** A deleted thread, as a tier remembers it. */
export interface Tombstone {
  readonly threadId: string;
  /** To the minute or better. Milliseconds since 1970. */
  readonly deletedAtMs: number;
}

/** Which tombstones {@link ArchiveSource.tombstones} yields. */
export interface TombstoneQuery {
  /** Only threads deleted at this instant or later. Milliseconds since 1970. */
  readonly deletedFromMs?: number | undefined;
  /** Go on after this one (exclusive), as yielded by an earlier call. */
  readonly after?: Tombstone | undefined;
}

/** Fast path for who archives threads of a tier: spares it a question per archived thread, or per archived checkpoint. */
export interface ArchiveSource {
  /** Deleted threads that nobody wrote again, least recently deleted first, for a week or longer. */
  tombstones(query: TombstoneQuery): AsyncIterable<Tombstone>;

  /** Checkpoints of a thread that have pending writes here, and no record. */
  strays(threadId: string): Promise<readonly Address[]>;
}

/** Whether a tier has the {@link ArchiveSource} fast path. */
export function isArchiveSource(tier: Tier): tier is Tier & ArchiveSource {
  return typeof (tier as Partial<ArchiveSource>).strays === "function";
}

/**
 * A tier that finds threads by tags ({@link ThreadQuery.tags}). Tags belong to the thread, not to its checkpoints: `remove` and
 * `evict` leave them, copies and forks made inside the storage get those of their source, `deleteThread` takes them away.
 * They change no revision.
 */
export interface ThreadTagger {
  /**
   * Adds tags to a thread, which need not be there yet; those it has are left as they are. Durable when it returns.
   * @returns the thread's revision, so that a writer who never read it can tell its tier what it has `seen`: if the thread is
   * deleted after this, its append is refused and makes no untagged thread
   */
  tagThread(threadId: string, tags: readonly ThreadTag[]): Promise<number>;

  /** Takes tags away; those it doesn't have are no error. */
  untagThread(threadId: string, tags: readonly ThreadTag[]): Promise<void>;

  /** All tags of a thread, in any order. */
  threadTags(threadId: string): Promise<readonly ThreadTag[]>;
}

/** Whether a tier is a {@link ThreadTagger}. */
export function tagsThreads(tier: Tier): tier is Tier & ThreadTagger {
  return typeof (tier as Partial<ThreadTagger>).tagThread === "function";
}

/** One storage of a stack, and its part in it. */
export interface StackLayer {
  readonly role: "hot" | "warm" | "cold";
  readonly tier: Tier;
}

/** A tier made of tiers that may all hold parts of a thread: who proves that a thread is gone asks each of them. */
export interface Stacked {
  readonly layers: readonly StackLayer[];
}

/** Whether a tier is made of tiers. */
export function isStacked(tier: Tier): tier is Tier & Stacked {
  return Array.isArray((tier as Partial<Stacked>).layers);
}

/** A tier that processes which died, or deletions, leave something in that no thread needs. */
export interface Sweeper {
  /**
   * Takes away what nothing needs any more: what writers that died left half-made, pending writes whose checkpoint never
   * came, tombstones past their time. Safe beside everything else, and to repeat; bounded per call.
   * @param olderThanMs leaves alone what is younger than this many milliseconds: its writer may still be at it
   * @returns how many things went; fewer than all where there was more than one call takes
   */
  sweep(olderThanMs: number): Promise<number>;
}

/** Whether a tier is a {@link Sweeper}. */
export function sweeps(tier: Tier): tier is Tier & Sweeper {
  return typeof (tier as Partial<Sweeper>).sweep === "function";
}

/** Bytes that are to take the place of others; see {@link BytesReplacer}. */
export interface ReplaceBytesRequest {
  readonly threadId: string;
  /** The revision at which the bytes in place were read. */
  readonly revision: number;
  /** Bodies of records. */
  readonly records: readonly (Address & { readonly body: Uint8Array })[];
  /** Bodies of pending writes, each by its place among those of its checkpoint; 0 is the oldest. */
  readonly writes: readonly (Address & { readonly place: number; readonly body: Uint8Array })[];
  /** Bytes of blobs. What a blob is a patch on stays. */
  readonly blobs: readonly { readonly hash: BlobHash; readonly bytes: Uint8Array }[];
}

/** A tier that can put other bytes in the place of those it holds, which mean the same: what encrypting anew needs. */
export interface BytesReplacer {
  /**
   * Replaces bytes in one atomic step. What isn't here (any more) is left out. Writers under way aren't disturbed: nothing that
   * they rely on goes.
   * @returns the thread's revision afterwards; undefined, and nothing done, where it isn't at `revision`
   */
  replaceBytes(request: ReplaceBytesRequest): Promise<number | undefined>;
}

/** Whether a tier is a {@link BytesReplacer}. */
export function replacesBytes<T extends Pick<Tier, "name">>(tier: T): tier is T & BytesReplacer {
  return typeof (tier as Partial<BytesReplacer>).replaceBytes === "function";
}

/** What looks through all that a tier holds as its own. */
export type OwningTier = Pick<Tier, "name" | "peek" | "list" | "threads" | "blobs" | "remove"> &
  Partial<BytesReplacer & ArchiveSource>;

/** A tier made of others, of which several own something: a stack with an archive. */
export interface LayeredTier {
  /** The tiers that own something, without those that hold copies. What is replaced in one of them is dropped from the copies. */
  owners(): readonly OwningTier[];
}

/** The tiers that own what a tier holds: itself, unless it is a {@link LayeredTier}. */
export function ownersOf(tier: Tier): readonly OwningTier[] {
  const { owners } = tier as Partial<LayeredTier>;
  return owners === undefined ? [tier] : owners.call(tier);
}
