// long file: every ability that a tier may have beyond its contract, read as one piece
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
import type { ThreadStatus } from "./threadStatus.ts";

/** A tier that stores how threads stand, and answers {@link ThreadQuery.status} from an index. */
export interface StatusKeeper {
  /** Notes the status of a thread whose status the tier doesn't know. False, and nothing is done, if the thread isn't at `revision`. */
  noteStatus(threadId: string, revision: number, status: ThreadStatus): Promise<boolean>;
}

/** Whether a tier is a {@link StatusKeeper}. */
export function keepsStatus(tier: Tier): tier is Tier & StatusKeeper {
  return typeof (tier as Partial<StatusKeeper>).noteStatus === "function";
}

// Abilities that a tier may have beyond its contract: for each, an interface and a function that says whether a tier has it.

/** Fast path: reads the ancestors of a checkpoint in one round trip, for LangGraph's DeltaChannel. */
export interface AncestryReader {
  /**
   * The parent chain of a checkpoint, nearest first, without the checkpoint itself. Only records that carry one of `seedTerms` need their
   * blobs. The chain ends once each seed term was met.
   */
  ancestry(at: Address, seedTerms: readonly number[], limit: number): Promise<readonly StoredCheckpoint[]>;
}

/** Whether a tier has the {@link AncestryReader} fast path. */
export function readsAncestry(tier: Tier): tier is Tier & AncestryReader {
  return typeof (tier as Partial<AncestryReader>).ancestry === "function";
}

/** Fast path: copies a thread inside the storage. */
export interface ThreadCopier {
  /** The copy has the same checkpoint ids, order, side branches, pending writes and tags. False if the source has no checkpoints. */
  copyThread(sourceId: string, targetId: string): Promise<boolean>;
}

/** Whether a tier has the {@link ThreadCopier} fast path. */
export function copiesThreads(tier: Tier): tier is Tier & ThreadCopier {
  return typeof (tier as Partial<ThreadCopier>).copyThread === "function";
}

/** The heads of a thread and one of its root checkpoints, without blobs. */
export interface ThreadOutline {
  readonly revision: number;
  /** The root checkpoint that was asked for; absent if it isn't here. */
  readonly checkpoint?: StoredCheckpoint | undefined;
  /** Whether checkpoints were made from it. */
  readonly continued: boolean;
  /** The heads of all namespaces; those whose record isn't here are left out. */
  readonly heads: readonly StoredCheckpoint[];
}

/** Which part of a namespace is copied to a fork. */
export interface ForkTip {
  readonly namespace: string;
  /** The checkpoint that becomes the namespace's head in the fork. */
  readonly checkpointId: string;
  /** The pending writes to copy, each by its place among those of the checkpoint; 0 is the oldest. */
  readonly writes: readonly number[];
  /** How many ancestors are copied at most, with all their pending writes. */
  readonly ancestors: number;
  /** Ends the copying of ancestors once each of these terms was met. */
  readonly until?: readonly number[] | undefined;
}

/** What {@link ThreadForker.forkThread} copies. */
export interface ForkRequest {
  readonly sourceId: string;
  readonly targetId: string;
  /** Revision of the source's outline. Nothing may have been removed since. */
  readonly seen: number;
  readonly tips: readonly ForkTip[];
  /** Records, blobs and heads of other namespaces, which are written together with the copy. */
  readonly also: Pick<AppendRequest, "records" | "blobs" | "heads">;
}

/** Fast path: makes a thread out of a part of another one, inside the storage. No value leaves the storage. */
export interface ThreadForker {
  /** One round trip. `checkpointId` defaults to the root head. Undefined if {@link forkThread} can't fork this thread. */
  outline(threadId: string, checkpointId?: string): Promise<ThreadOutline | undefined>;

  /**
   * Copies the tips, and the blobs that they need, under the same ids. Side branches among them become the main line. Atomic; one
   * round trip.
   * @returns how much was copied (bytes of bodies and blobs); undefined, and nothing is done, if a part of it isn't here, or
   * anything was removed after `seen`
   * @throws StratigraphError "THREAD_EXISTS" if the target has a head: nothing was written
   */
  forkThread(
    request: ForkRequest,
  ): Promise<{ readonly checkpoints: number; readonly bytes: number } | undefined>;
}

/** Whether a tier has the {@link ThreadForker} fast path. */
export function forksThreads(tier: Tier): tier is Tier & ThreadForker {
  return typeof (tier as Partial<ThreadForker>).forkThread === "function";
}

/** One namespace as it is in the tier that owns the thread. */
export interface NamespaceCopy extends Namespace {
  /** The owner's revision when the copy was taken. */
  readonly revision: number;
  /** Absent if the namespace has no head. */
  readonly head?: string | undefined;
  /** All pending writes of the head. */
  readonly writes: readonly StoredWriteBatch[];
  /** The head's record; absent to keep the one that is here. */
  readonly record?: CheckpointRecord | undefined;
  /** Blobs to add. */
  readonly blobs: readonly Blob[];
  /** Until when the copy may be served without asking the owner. Milliseconds since 1970. */
  readonly untilMs: number;
}

/**
 * A tier that can stand in for the owner of a thread for a while: what the hot tier of a stack needs under
 * `consistency: "trusted"`. `peek` and `read` of a namespace that was adopted set `copy` in their answer, until `untilMs`,
 * until `invalidate`, and until any other write of this tier moves the namespace's head or adds pending writes to it.
 */
export interface CopyKeeper {
  /**
   * Replaces the head and the pending writes of a namespace. Nothing is done if a copy of a later revision was adopted before, or
   * if `invalidate` named a later one. A tombstone doesn't prevent it.
   */
  adopt(copy: NamespaceCopy): Promise<void>;

  /** Ends the trust in all copies of the thread. Copies of revisions before `before` (default 0) can't be adopted later either. */
  invalidate(threadId: string, before?: number): Promise<void>;
}

/** Whether a tier is a {@link CopyKeeper}. */
export function keepsCopies(tier: Tier): tier is Tier & CopyKeeper {
  return typeof (tier as Partial<CopyKeeper>).adopt === "function";
}

/** A tier in which threads that nobody uses expire: what the hot tier of a stack needs under `adaptiveTtl`. */
export interface ThreadExpirer {
  /** How long a thread stays after its last use, in milliseconds. 0 if it stays for ever, or if reading it isn't a use. */
  readonly ttlMs: number;
  /**
   * From now on `choose` decides how long a thread stays, anew whenever the thread is used: in milliseconds, a whole number above 0. The
   * stack that uses the tier calls this method once.
   * @param longestMs no thread is kept longer, in milliseconds
   */
  chooseTtl(choose: (threadId: string) => number, longestMs: number): void;
}

/** Whether a tier is a {@link ThreadExpirer}. */
export function expiresThreads(tier: Tier): tier is Tier & ThreadExpirer {
  return typeof (tier as Partial<ThreadExpirer>).chooseTtl === "function";
}

/** What a tier holds of a thread besides its checkpoints. */
export interface ThreadInspection {
  readonly revision: number;
  /** Whether it was deleted, and has had no checkpoint since. */
  readonly deleted: boolean;
  /** Whether its bytes were evicted: only heads are here. */
  readonly evicted: boolean;
  /** Revision of the last removal of blobs; 0 if nothing was ever removed. */
  readonly removedAt: number;
  /** The heads of all namespaces, even if the checkpoint that a head names isn't here. Checkpoint ids by namespace. */
  readonly heads: ReadonlyMap<string, string>;
  /** Checkpoints that have pending writes here, but no record. */
  readonly strays: readonly Address[];
  /** Names of the fields that the tier keeps of the thread itself and that disagree with the rest. Absent if all agree. */
  readonly contradictions?: readonly string[];
  /** Checkpoints that have fewer batches of pending writes than the tier counted. Absent if there are none, or if it can't tell. */
  readonly lostWrites?: readonly Address[];
}

/** A tier that can rebuild what it keeps of a thread itself, from the thread's checkpoints, heads and pending writes. */
export interface ThreadMender {
  /** Rebuilds the fields that {@link ThreadInspection.contradictions} names. Removes nothing. False, and nothing is done, if all agree. */
  mendThread(threadId: string): Promise<boolean>;
}

/** Whether a tier is a {@link ThreadMender}. */
export function mendsThreads<T extends Pick<Tier, "name">>(tier: T): tier is T & ThreadMender {
  return typeof (tier as Partial<ThreadMender>).mendThread === "function";
}

/** A tier that shows those parts of a thread that no checkpoint leads to, so that the thread can be verified. */
export interface ThreadInspector {
  /**
   * What the tier holds of a thread besides its checkpoints. Undefined if it has nothing of the thread, not even a tombstone. If this takes
   * several requests, others may write between them; `revision` is the one before that.
   */
  inspect(threadId: string): Promise<ThreadInspection | undefined>;
}

/** Whether a tier is a {@link ThreadInspector}. */
export function inspectsThreads<T extends Pick<Tier, "name">>(tier: T): tier is T & ThreadInspector {
  return typeof (tier as Partial<ThreadInspector>).inspect === "function";
}

/** Stored things that no list of threads leads to. */
export interface Leftover {
  /**
   * "deleted": a part of a deleted thread. "lost": nobody deleted the thread, but the entry that names it is missing. "unlisted": that
   * entry is there, but says that the thread has no checkpoint, though it has one.
   */
  readonly kind: "deleted" | "lost" | "unlisted";
  /** The tier's name for it, for {@link LeftoverFinder.dropLeftover}. */
  readonly id: string;
  /** Absent if the tier doesn't know the thread any more. */
  readonly threadId?: string | undefined;
  /** In a few words, such as "3 checkpoints, 12 blobs". */
  readonly what: string;
  /** If it is lost: what to restore, such as "row thread = 17 of stratigraph.threads". */
  readonly restore?: string | undefined;
  /** If it is lost: its heads, by which other tiers may know it. Checkpoint ids by namespace. */
  readonly heads?: ReadonlyMap<string, string> | undefined;
}

/** A tier in which parts of a thread may outlive it, if somebody else changes the storage or restores a part of it. */
export interface LeftoverFinder {
  /**
   * Everything that deleted threads left, except their tombstones, and everything of threads that can't be listed. Pages are fetched as
   * they are consumed.
   */
  leftovers(): AsyncIterable<Leftover>;

  /**
   * Removes what a deleted thread left. False, and nothing is done, if it isn't such a leftover, is gone, or if its thread was begun anew.
   */
  dropLeftover(id: string): Promise<boolean>;

  /**
   * Makes a lost thread, whose checkpoints, heads and pending writes are there, readable again under its id. False, and nothing is done, if
   * it isn't lost any more, or if there is a thread with this id. Absent if the tier can't do this.
   */
  reviveLeftover?(id: string, threadId: string): Promise<boolean>;
}

/** Whether a tier is a {@link LeftoverFinder}. */
export function findsLeftovers(tier: Tier): tier is Tier & LeftoverFinder {
  return typeof (tier as Partial<LeftoverFinder>).leftovers === "function";
}

/** A tier with read replicas, which follow the tier that owns threads. */
export interface Replicated {
  readonly replicas: readonly Tier[];
}

/** Whether a tier has read replicas. */
export function isReplicated(tier: Tier): tier is Tier & Replicated {
  return Array.isArray((tier as Partial<Replicated>).replicas);
}

/** A tier that keeps leases, so that one worker at a time does something, across processes. */
export interface LeaseKeeper {
  /**
   * Takes or prolongs the lease called `name` for `forMs` milliseconds; 0 gives it back. False if another holder has it.
   */
  lease(name: string, holder: string, forMs: number): Promise<boolean>;
}

/** Whether a tier is a {@link LeaseKeeper}. */
export function keepsLeases(tier: Tier): tier is Tier & LeaseKeeper {
  return typeof (tier as Partial<LeaseKeeper>).lease === "function";
}

/** Answer of {@link LockKeeper.lock}: who has the lock now. */
export interface LockState {
  /** Whether the holder that asked has it. */
  readonly held: boolean;
  /** Who has it, as they named themselves. */
  readonly holder: string;
  /** When that holder got it, by the storage's clock. Milliseconds since 1970. */
  readonly sinceMs: number;
  /**
   * Grows from one holder to the next, and stays the same while one holder has the lock. It is the time when the lock was taken, in
   * microseconds since 1970 by the storage's clock, or the previous token plus one if that is later. A safe integer.
   */
  readonly token: number;
}

/**
 * A tier that keeps locks: leases that say who has them, and number their holders. They go by the storage's clock, so that the clocks of
 * those who ask don't matter.
 */
export interface LockKeeper {
  /** Takes or prolongs the lock called `name` for `forMs` milliseconds, or returns who has it. */
  lock(name: string, holder: string, forMs: number): Promise<LockState>;

  /** Gives the lock back. Nothing is done if another holder has it. */
  unlock(name: string, holder: string): Promise<void>;
}

/** Whether a tier is a {@link LockKeeper}. */
export function keepsLocks(tier: Tier): tier is Tier & LockKeeper {
  return typeof (tier as Partial<LockKeeper>).lock === "function";
}

/** How long, at least, a tier remembers the token of a lock that nobody has any more. Milliseconds. */
export const lockRememberedMs = 86_400_000;

/** A tier that keeps check values of keys, which show that a process uses another key. They reveal nothing about the keys. */
export interface KeyCheckKeeper {
  /** The stored check values that have these names. One request, which writes nothing. */
  keyChecks(names: readonly string[]): Promise<ReadonlyMap<string, string>>;

  /**
   * Stores a check value, if none of this name is stored. Atomic, so that one of two processes wins, and durable as an append is.
   * @param value 1 to 64 ASCII letters and digits
   * @returns the check value that is stored now
   */
  claimKeyCheck(name: string, value: string): Promise<string>;

  /** Ids of some threads, to look for a key by which they were written. Absent if a page of {@link Tier.threads} costs little. */
  someThreads?(limit: number): AsyncIterable<string>;
}

/** Whether a tier is a {@link KeyCheckKeeper}. */
export function keepsKeyChecks(tier: Tier): tier is Tier & KeyCheckKeeper {
  return typeof (tier as Partial<KeyCheckKeeper>).claimKeyCheck === "function";
}

/** A tier over several databases, each of which keeps check values of keys. */
export interface KeyCheckPlaces {
  /** The databases that can be reached. @throws StratigraphError if one isn't the expected one */
  keyCheckPlaces(): Promise<readonly Tier[]>;
}

/** Whether a tier has {@link KeyCheckPlaces}. */
export function hasKeyCheckPlaces(tier: Tier): tier is Tier & KeyCheckPlaces {
  return typeof (tier as Partial<KeyCheckPlaces>).keyCheckPlaces === "function";
}

/** A tier that can delete a thread only if nobody wrote to it meanwhile. Deleting by age needs this, as nobody confirms it. */
export interface UnchangedDeleter {
  /** As {@link Tier.deleteThread}, if the thread is still at `revision`; otherwise false, and nothing is done. Atomic. */
  deleteUnchanged(threadId: string, revision: number): Promise<boolean>;
}

/** Whether a tier is an {@link UnchangedDeleter}. */
export function deletesUnchanged(tier: Tier): tier is Tier & UnchangedDeleter {
  return typeof (tier as Partial<UnchangedDeleter>).deleteUnchanged === "function";
}

/** A deleted thread, as a tier remembers it. */
export interface Tombstone {
  readonly threadId: string;
  /** When it was deleted, to the minute or better. Milliseconds since 1970. */
  readonly deletedAtMs: number;
}

/** Which tombstones {@link ArchiveSource.tombstones} yields. */
export interface TombstoneQuery {
  /** Only threads deleted at this instant or later. Milliseconds since 1970. */
  readonly deletedFromMs?: number | undefined;
  /** Go on after this one (exclusive), as yielded by an earlier call. */
  readonly after?: Tombstone | undefined;
  /** As {@link ThreadQuery.onDamaged}: called for each one that is left out because the data that names its thread is damaged. */
  readonly onDamaged?: ((error: Error) => void) | undefined;
}

/** Fast path for archiving the threads of a tier: saves a question per archived thread, or per archived checkpoint. */
export interface ArchiveSource {
  /** Deleted threads that nobody wrote to since, least recently deleted first. A deletion is remembered for a week or longer. */
  tombstones(query: TombstoneQuery): AsyncIterable<Tombstone>;

  /** Checkpoints of a thread that have pending writes here, but no record. */
  strays(threadId: string): Promise<readonly Address[]>;
}

/** Whether a tier has the {@link ArchiveSource} fast path. */
export function isArchiveSource(tier: Tier): tier is Tier & ArchiveSource {
  return typeof (tier as Partial<ArchiveSource>).strays === "function";
}

/**
 * A tier that finds threads by tags ({@link ThreadQuery.tags}). Tags belong to the thread, not to its checkpoints: `remove` and
 * `evict` leave them, copies and forks made inside the storage get those of their source, and `deleteThread` removes them.
 * Tagging doesn't change the revision.
 */
export interface ThreadTagger {
  /**
   * Adds tags to a thread, which need not exist yet. Tags that it has are left as they are. Durable when the call resolves.
   * @returns the thread's revision. A writer that never read the thread passes it as `seen`: if the thread is deleted after the
   * tagging, the append is refused instead of making a thread without tags
   */
  tagThread(threadId: string, tags: readonly ThreadTag[]): Promise<number>;

  /** Removes tags. Tags that the thread doesn't have are no error. */
  untagThread(threadId: string, tags: readonly ThreadTag[]): Promise<void>;

  /** All tags of a thread, in any order. */
  threadTags(threadId: string): Promise<readonly ThreadTag[]>;
}

/** Whether a tier is a {@link ThreadTagger}. */
export function tagsThreads(tier: Tier): tier is Tier & ThreadTagger {
  return typeof (tier as Partial<ThreadTagger>).tagThread === "function";
}

/** What a tier is for. A tier that stands alone is "warm": it owns its threads. */
export type TierRole = "hot" | "warm" | "cold" | "replica";

/** One storage of a stack, and its role there. */
export interface StackLayer {
  readonly role: Exclude<TierRole, "replica">;
  readonly tier: Tier;
}

/** A tier made of tiers that may all hold parts of a thread: to prove that a thread is gone, each of them is asked. */
export interface Stacked {
  readonly layers: readonly StackLayer[];
}

/** Whether a tier is made of tiers. */
export function isStacked(tier: Tier): tier is Tier & Stacked {
  return Array.isArray((tier as Partial<Stacked>).layers);
}

/** A tier in which crashed processes, or deletions, leave things that no thread needs. */
export interface Sweeper {
  /**
   * Removes what nothing needs any more: what crashed writers left half-made, pending writes whose checkpoint never came,
   * expired tombstones and leases. Safe beside all other calls, and to repeat. One call removes a limited number of things.
   * @param olderThanMs age below which things stay, in milliseconds, because their writer may still be at work
   * @returns how many things were removed; there may be more
   */
  sweep(olderThanMs: number): Promise<number>;
}

/** Whether a tier is a {@link Sweeper}. */
export function sweeps(tier: Tier): tier is Tier & Sweeper {
  return typeof (tier as Partial<Sweeper>).sweep === "function";
}

/** Argument of {@link BytesReplacer.replaceBytes}: bytes that take the place of stored ones. */
export interface ReplaceBytesRequest {
  readonly threadId: string;
  /** The revision at which the stored bytes were read. */
  readonly revision: number;
  /** Bodies of records. */
  readonly records: readonly (Address & { readonly body: Uint8Array })[];
  /** Bodies of pending writes, each by its place among those of its checkpoint; 0 is the oldest. */
  readonly writes: readonly (Address & { readonly place: number; readonly body: Uint8Array })[];
  /** Bytes of blobs. A patch stays a patch on the same base. */
  readonly blobs: readonly { readonly hash: BlobHash; readonly bytes: Uint8Array }[];
}

/** A tier that can replace stored bytes by others that mean the same, as re-encryption needs. */
export interface BytesReplacer {
  /**
   * Replaces bytes in one atomic step. Skips what isn't here, or isn't any more. Writers under way aren't disturbed, as nothing
   * that they rely on is removed.
   * @returns the thread's revision afterwards; undefined, and nothing is done, if it isn't at `revision`
   */
  replaceBytes(request: ReplaceBytesRequest): Promise<number | undefined>;
}

/** Whether a tier is a {@link BytesReplacer}. */
export function replacesBytes<T extends Pick<Tier, "name">>(tier: T): tier is T & BytesReplacer {
  return typeof (tier as Partial<BytesReplacer>).replaceBytes === "function";
}

/** The methods of a tier that are needed to go through all data that it owns. */
export type OwningTier = Pick<Tier, "name" | "peek" | "list" | "threads" | "blobs" | "remove"> &
  Partial<BytesReplacer & ArchiveSource> & {
    /** The tier itself, if this is a view of it that drops copies too. */
    readonly of?: Tier | undefined;
  };

/** A tier made of others, of which several own data: a stack with an archive. */
export interface LayeredTier {
  /** The tiers that own data, without those that hold copies. What is replaced in one of them is dropped from the copies. */
  owners(): readonly OwningTier[];
}

/** The tiers that own the data of a tier: the tier itself, unless it is a {@link LayeredTier}. */
export function ownersOf(tier: Tier): readonly OwningTier[] {
  const { owners } = tier as Partial<LayeredTier>;
  return owners === undefined ? [tier] : owners.call(tier);
}

/** What one check of a tier found. Never holds a secret. */
export interface Diagnosis {
  readonly tier: string;
  readonly role: TierRole;
  /** What was looked at, in one or two words that never change: "connection", "schema", "eviction". */
  readonly check: string;
  /**
   * - "ok": nothing to do
   * - "warning": it works, but will cause trouble some day
   * - "problem": calls fail, or stored threads are at risk
   * - "unknown": it couldn't be checked
   */
  readonly status: "ok" | "warning" | "problem" | "unknown";
  /** In a sentence or two. */
  readonly found: string;
  /** What to do: a command or a statement, if there is one. */
  readonly advice?: string | undefined;
}

/** Options of {@link Diagnoser.diagnose}. */
export interface DiagnoseRequest {
  /** What the tier is used for. A tier made of others knows what those are used for. */
  readonly role: TierRole;
  /** How long each check may take, in milliseconds. */
  readonly timeoutMs: number;
  /** Whether it may write probe objects, which it removes again. No thread is touched in either case. */
  readonly write: boolean;
}

/** A tier that can report whether it is set up well. */
export interface Diagnoser {
  /** Never rejects: a check that fails, and a storage that can't be reached, are findings. Takes two timeouts at most. */
  diagnose(request: DiagnoseRequest): Promise<readonly Diagnosis[]>;
}

/** Whether a tier is a {@link Diagnoser}. */
export function diagnoses(tier: Tier): tier is Tier & Diagnoser {
  return typeof (tier as Partial<Diagnoser>).diagnose === "function";
}

/** A thread that was moved between the owner and the archive. */
export interface MovedThread {
  /** False in a dry run, and if somebody wrote to the thread meanwhile: then it isn't moved. */
  readonly done: boolean;
  readonly checkpoints: number;
  /** Stored size of its checkpoints, pending writes and values. */
  readonly bytes: number;
}

/** A tier with an archive, to which single threads can be moved at once. */
export interface ThreadArchiver {
  /**
   * Copies a thread to the archive, reads it back, and only then drops it from the owner.
   * @param check decodes a blob and compares it with the hash that names it; throws if they differ
   * @returns undefined if the owner has no checkpoints of the thread: it doesn't exist, or is in the archive as a whole
   * @throws StratigraphError "ARCHIVE_UNAVAILABLE"
   */
  archiveThread(
    threadId: string,
    check: (hash: BlobHash, blobs: ReadonlyMap<BlobHash, Blob>) => Promise<unknown>,
    options?: { readonly dryRun?: boolean | undefined },
  ): Promise<MovedThread | undefined>;

  /**
   * Copies all archived checkpoints of a thread back to the owner. The archive keeps its copy until the thread is deleted.
   * @returns how much was copied; undefined if the archive has nothing of the thread
   * @throws StratigraphError "ARCHIVE_UNAVAILABLE"; "OVERLOADED" if the thread is written to all the time
   */
  restoreThread(threadId: string): Promise<MovedThread | undefined>;
}

/** Whether a tier is a {@link ThreadArchiver}. */
export function archivesThreads(tier: Tier): tier is Tier & ThreadArchiver {
  return typeof (tier as Partial<ThreadArchiver>).archiveThread === "function";
}

/** A tier that is set up by a script, which people can read and run by other means. */
export interface ScriptedSetup {
  /** The script. @param options `createSchema` false: the schema exists already. Default true */
  setupScript(options?: { readonly createSchema?: boolean | undefined }): string;
  setup(options?: { readonly createSchema?: boolean | undefined }): Promise<void>;
}

/** Whether a tier has a {@link ScriptedSetup}. */
export function isSetUpByScript(tier: Tier): tier is Tier & ScriptedSetup {
  return typeof (tier as Partial<ScriptedSetup>).setupScript === "function";
}
