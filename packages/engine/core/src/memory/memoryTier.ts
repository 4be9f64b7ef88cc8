// long file: the reference for every method of the contract, read as one piece
import { goesOn } from "../contract/appendRules.ts";
import { missingBlob, namedBlobs } from "../contract/blobClosure.ts";
import { Calls } from "../contract/calls.ts";
import { closedError } from "../contract/errors.ts";
import { decideMoves, lostToOf, refuseLateWriter, refuseLostParents } from "../contract/headRules.ts";
import { isListed } from "../contract/isListed.ts";
import { checkpointKey } from "../contract/keys.ts";
import { tagKey, tagOfKey } from "../contract/tagKey.ts";
import { tombstoneMs } from "../contract/tier.ts";
import { appendTraffic, peekTraffic, readTraffic, storedSize, writesTraffic } from "../contract/traffic.ts";
import type {
  Address,
  Appended,
  AppendRequest,
  AppendWritesRequest,
  Blob,
  BlobHash,
  BlobInfo,
  CheckpointRecord,
  ListedCheckpoint,
  ListQuery,
  MaybeAddress,
  Peek,
  Reading,
  RemoveRequest,
  StoredCheckpoint,
  StoredWriteBatch,
  ThreadInfo,
  ThreadQuery,
  ThreadTag,
  Tier,
  WriteBatch,
} from "../contract/tier.ts";
import { statusFrom, type ThreadStatus, type WritesOutcome } from "../contract/threadStatus.ts";
import type { CacheKeeper } from "../contract/caches.ts";
import type { ItemKeeper } from "../contract/items.ts";
import { MemoryItems } from "./memoryItems.ts";
import type { WorkspaceKeeper } from "../contract/workspaces.ts";
import { MemoryWorkspaces } from "./memoryWorkspaces.ts";
import { MemoryCaches } from "./memoryCaches.ts";
import { MemoryLocks } from "./memoryLocks.ts";
import { diagnoseMemory } from "../operations/diagnoseMemory.ts";
import type {
  AncestryReader,
  ArchiveSource,
  BytesReplacer,
  CopyKeeper,
  Diagnoser,
  DiagnoseRequest,
  Diagnosis,
  KeyCheckKeeper,
  LeaseKeeper,
  LockKeeper,
  LockState,
  NamespaceCopy,
  ReplaceBytesRequest,
  StatusKeeper,
  Sweeper,
  ThreadCopier,
  ThreadInspection,
  ThreadInspector,
  ThreadTagger,
  Tombstone,
  TombstoneQuery,
  UnchangedDeleter,
} from "../contract/tierExtensions.ts";

/** All that is kept of one thread. */
interface Thread {
  revision: number;
  /** Revision of the last deletion: writers that read the thread before it are late. */
  deletedAt: number;
  /** Whether it was deleted, and has had no checkpoint since. */
  deleted: boolean;
  /** Revision of the last removal of blobs: blobs that were read before it may be gone. */
  removedAt: number;
  evicted: boolean;
  writtenAtMs: number;
  heads: Map<string, string>;
  records: Map<string, CheckpointRecord>;
  blobs: Map<BlobHash, Blob>;
  writes: Map<string, StoredWriteBatch[]>;
  /** What the batches of `writes` say of their tasks, in the same order. */
  outcomes: Map<string, (WritesOutcome | undefined)[]>;
  /** Namespaces that were adopted from the owner, and until when these copies may be trusted. */
  copies: Map<string, { readonly revision: number; readonly untilMs: number }>;
  /** Copies of revisions of the owner below this are refused. */
  copyFloor: number;
  /** The status that was noted for a revision. */
  noted?: { readonly revision: number; readonly status: ThreadStatus } | undefined;
  /** Tags, by {@link tagKey}. */
  tags: ReadonlySet<string>;
}

function emptyThread(): Thread {
  return {
    revision: 0,
    deletedAt: 0,
    deleted: false,
    removedAt: 0,
    evicted: false,
    writtenAtMs: 0,
    heads: new Map(),
    records: new Map(),
    blobs: new Map(),
    writes: new Map(),
    outcomes: new Map(),
    copies: new Map(),
    copyFloor: 0,
    tags: new Set(),
  };
}

function byDeletion(a: Tombstone, b: Tombstone): number {
  return a.deletedAtMs - b.deletedAtMs || descending(b.threadId, a.threadId);
}

function descending(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? 1 : -1;
}

/** How many threads without a checkpoint are kept: tombstones, and pending writes that came early. The oldest are dropped first. */
const mostHeadless = 100_000;
/** How many of these threads one call of `sweep` removes at most. */
const mostSwept = 1000;

/**
 * The contract in plain data structures: the reference that every other tier is compared with, and the tier of MemorySaver.
 * Methods make their changes without awaiting anything, so they are atomic.
 */
export class MemoryTier
  implements
    Tier,
    AncestryReader,
    ThreadCopier,
    CopyKeeper,
    Diagnoser,
    KeyCheckKeeper,
    LeaseKeeper,
    LockKeeper,
    UnchangedDeleter,
    ItemKeeper,
    WorkspaceKeeper,
    CacheKeeper,
    ArchiveSource,
    BytesReplacer,
    ThreadTagger,
    ThreadInspector,
    StatusKeeper,
    Sweeper
{
  readonly name: string = "memory";
  readonly remains = [
    {
      what: "a tombstone with the thread's id, in this process's memory",
      forMs: tombstoneMs,
      removedBy: "later writes of this tier, its sweep, or the end of the process",
    },
  ];
  readonly items: MemoryItems;
  readonly workspaces: MemoryWorkspaces;
  readonly caches: MemoryCaches;
  readonly #kept = new Map<string, Thread>();
  /** Threads without a checkpoint, and when they were last written or tagged (milliseconds since 1970), longest ago first. */
  readonly #headless = new Map<string, number>();
  readonly #keyChecks = new Map<string, string>();
  readonly #leases = new Map<string, { holder: string; untilMs: number }>();
  readonly #locks: MemoryLocks;
  readonly #now: () => number;
  readonly #calls = new Calls("memory");
  #ended = false;

  /** @param now the clock, for tests: milliseconds since 1970 */
  constructor(now: () => number = Date.now) {
    this.#now = now;
    this.#locks = new MemoryLocks(now);
    const run = <T>(method: string, work: () => T): Promise<T> =>
      this.#calls.run(method, undefined, async () => {
        this.#refuseIfEnded();
        return work();
      });
    this.items = new MemoryItems(now, run);
    this.caches = new MemoryCaches(now, run);
    this.workspaces = new MemoryWorkspaces(this.items, now, run);
  }

  /** Every method of threads goes through here, so that none works after {@link end}. */
  get #threads(): Map<string, Thread> {
    this.#refuseIfEnded();
    return this.#kept;
  }

  #refuseIfEnded(): void {
    if (this.#ended) throw closedError(this.name);
  }

  async peek(at: MaybeAddress): Promise<Peek> {
    return await this.#calls.run("peek", at.threadId, async () => this.#peek(at), peekTraffic);
  }

  #peek(at: MaybeAddress): Peek {
    const thread = this.#threads.get(at.threadId);
    if (thread === undefined) return { revision: 0, writes: [] };
    const head = thread.heads.get(at.namespace);
    const checkpointId = at.checkpointId ?? head;
    const state = { revision: thread.revision, head, checkpointId, ...copyOf(thread, at, this.#now()) };
    if (checkpointId === undefined) return { ...state, writes: [] };
    const record = thread.records.get(checkpointKey({ ...at, checkpointId }));
    return { ...state, writes: this.#writesOf(thread, { ...at, checkpointId }), record };
  }

  async read(at: MaybeAddress): Promise<Reading> {
    return await this.#calls.run("read", at.threadId, async () => this.#read(at), readTraffic);
  }

  #read(at: MaybeAddress): Reading {
    const thread = this.#threads.get(at.threadId);
    if (thread === undefined) return { revision: 0 };
    const head = thread.heads.get(at.namespace);
    const state = { revision: thread.revision, head, ...copyOf(thread, at, this.#now()) };
    const checkpointId = at.checkpointId ?? head;
    const record =
      checkpointId === undefined ? undefined : thread.records.get(checkpointKey({ ...at, checkpointId }));
    if (record === undefined) return state;
    const checkpoint = this.#stored(thread, record);
    const needed = namedBlobs(record, checkpoint.writes);
    return missingBlob(needed, thread.blobs) === undefined ? { ...state, checkpoint } : state;
  }

  list(query: ListQuery): AsyncGenerator<ListedCheckpoint> {
    return this.#calls.iterate("list", query.threadId, this.#list(query), storedSize);
  }

  async *#list(query: ListQuery): AsyncGenerator<ListedCheckpoint> {
    const threads =
      query.threadId === undefined ? [...this.#threads.values()] : [this.#threads.get(query.threadId)];
    let left = query.limit ?? Number.POSITIVE_INFINITY;
    for (const thread of threads) {
      if (thread === undefined) continue;
      const page = [...thread.records.values()]
        .filter((record) => isListed(record, query))
        .sort((a, b) => descending(a.checkpointId, b.checkpointId))
        .slice(0, left)
        .map((record) => ({
          ...this.#stored(thread, record),
          ...(query.recordsOnly ? { blobs: new Map() } : {}),
          head: thread.heads.get(record.namespace),
        }));
      yield* page;
      left -= page.length;
    }
  }

  threads(query: ThreadQuery): AsyncGenerator<ThreadInfo> {
    return this.#calls.iterate("threads", undefined, this.#inOrder(query));
  }

  async *#inOrder(query: ThreadQuery): AsyncGenerator<ThreadInfo> {
    const direction = query.order === "newest" ? -1 : 1;
    const inOrder = (a: ThreadInfo, b: ThreadInfo): number =>
      direction * (a.writtenAtMs - b.writtenAtMs) || direction * -descending(a.threadId, b.threadId);
    const infos = [...this.#threads]
      .filter(([, thread]) => thread.heads.size > 0)
      .filter(([, { tags }]) => (query.tags ?? []).every((tag) => tags.has(tagKey(tag))))
      .map(([threadId, thread]) => infoOf(threadId, thread, query))
      .filter((info) => stands(info, query.status))
      .filter(({ headRecord }) => hasTerms(headRecord, query.headTerms))
      .filter(({ writtenAtMs }) => query.writtenBeforeMs === undefined || writtenAtMs < query.writtenBeforeMs)
      .filter(({ evicted }) => query.includeEvicted !== false || !evicted)
      .filter((info) => query.after === undefined || inOrder(info, query.after) > 0);
    yield* infos.sort(inOrder).slice(0, query.limit);
  }

  async blobs(threadId: string, only?: readonly BlobHash[]): Promise<BlobInfo[]> {
    const { blobs } = this.#threads.get(threadId) ?? emptyThread();
    const named = only?.flatMap((hash) => blobs.get(hash) ?? []) ?? [...blobs.values()];
    return named.map(({ hash, base, bytes }) => ({ hash, base, size: bytes.length }));
  }

  /** Whether a blob of a thread is here. */
  hasBlob(threadId: string, hash: BlobHash): boolean {
    return this.#threads.get(threadId)?.blobs.has(hash) === true;
  }

  async append(request: AppendRequest): Promise<Appended> {
    return await this.#calls.run(
      "append",
      request.threadId,
      async () => this.#append(request),
      () => appendTraffic(request),
    );
  }

  #append(request: AppendRequest): Appended {
    const thread = this.#open(request.threadId);
    refuseLateWriter(thread, thread.blobs, request, goesOn(request));
    refuseLostParents(thread, request);
    const moves = decideMoves(thread, request);
    thread.revision += 1;
    for (const blob of request.blobs) if (!thread.blobs.has(blob.hash)) thread.blobs.set(blob.hash, blob);
    for (const record of request.records)
      thread.records.set(checkpointKey(record), { ...record, lostTo: lostToOf(thread, moves, record) });
    for (const batch of request.writes ?? []) this.#addWrites(thread, batch);
    for (const { move, moved } of moves) {
      if (!moved) continue;
      thread.heads.set(move.namespace, move.to);
      thread.copies.delete(move.namespace);
    }
    this.#close(request.threadId, thread, moves.length > 0);
    return {
      revision: thread.revision,
      heads: moves.map(({ move, moved }) => ({
        namespace: move.namespace,
        head: thread.heads.get(move.namespace)!,
        moved,
      })),
    };
  }

  async appendWrites(request: AppendWritesRequest): Promise<void> {
    await this.#calls.run(
      "appendWrites",
      request.threadId,
      async () => this.#appendWrites(request),
      () => writesTraffic(request),
    );
  }

  #appendWrites(request: AppendWritesRequest): void {
    const thread = this.#open(request.threadId);
    refuseLateWriter(thread, thread.blobs, request, request.seen === undefined);
    thread.revision += 1;
    for (const blob of request.newBlobs) if (!thread.blobs.has(blob.hash)) thread.blobs.set(blob.hash, blob);
    this.#addWrites(thread, request);
    this.#close(request.threadId, thread, false);
  }

  async remove(request: RemoveRequest): Promise<boolean> {
    const thread = this.#threads.get(request.threadId);
    if (thread === undefined || thread.revision !== request.revision) return false;
    for (const at of request.checkpoints) {
      thread.records.delete(checkpointKey(at));
      thread.writes.delete(checkpointKey(at));
      thread.outcomes.delete(checkpointKey(at));
    }
    // A new map, because readers hold the old one.
    thread.blobs = new Map(thread.blobs);
    for (const hash of request.dropBlobs) thread.blobs.delete(hash);
    for (const blob of request.replaceBlobs) thread.blobs.set(blob.hash, blob);
    for (const { namespace, to } of request.heads) {
      if (to === undefined) thread.heads.delete(namespace);
      else thread.heads.set(namespace, to);
    }
    if (thread.heads.size === 0) this.#lostHeads(request.threadId);
    thread.copies.clear();
    thread.revision += 1;
    thread.removedAt = thread.revision;
    return true;
  }

  async replaceBytes({
    threadId,
    revision,
    records,
    writes,
    blobs,
  }: ReplaceBytesRequest): Promise<number | undefined> {
    const thread = this.#threads.get(threadId);
    if (thread === undefined || thread.revision !== revision) return undefined;
    for (const { body, ...at } of records) {
      const record = thread.records.get(checkpointKey(at));
      if (record !== undefined) thread.records.set(checkpointKey(at), { ...record, body });
    }
    for (const { place, body, ...at } of writes) {
      const batches = thread.writes.get(checkpointKey(at));
      const batch = batches?.[place];
      if (batch !== undefined) thread.writes.set(checkpointKey(at), batches!.with(place, { ...batch, body }));
    }
    // A new map, because readers hold the old one.
    thread.blobs = new Map(thread.blobs);
    for (const { hash, bytes } of blobs) {
      const blob = thread.blobs.get(hash);
      if (blob !== undefined) thread.blobs.set(hash, { ...blob, bytes });
    }
    thread.revision += 1;
    return thread.revision;
  }

  async evict(threadId: string, revision: number): Promise<boolean> {
    const thread = this.#threads.get(threadId);
    if (thread === undefined || thread.revision !== revision) return false;
    const status = statusOf(thread, thread.heads.get(""));
    thread.records.clear();
    thread.writes.clear();
    thread.outcomes.clear();
    thread.blobs = new Map();
    thread.copies.clear();
    thread.evicted = true;
    thread.revision += 1;
    thread.removedAt = thread.revision;
    thread.noted = status && { revision: thread.revision, status };
    return true;
  }

  async noteStatus(threadId: string, revision: number, status: ThreadStatus): Promise<boolean> {
    const thread = this.#threads.get(threadId);
    if (thread?.revision !== revision) return false;
    thread.noted = { revision, status };
    return true;
  }

  async deleteThread(threadId: string): Promise<void> {
    // One that isn't there gets a tombstone, too: a run may have read that, and not have stored anything yet.
    const thread = this.#open(threadId);
    const revision = thread.revision + 1;
    this.#threads.set(threadId, {
      ...emptyThread(),
      writtenAtMs: this.#now(),
      revision,
      deletedAt: revision,
      removedAt: revision,
      deleted: true,
      copyFloor: thread.copyFloor,
    });
    this.#lostHeads(threadId);
  }

  async tagThread(threadId: string, tags: readonly ThreadTag[]): Promise<number> {
    const thread = this.#threads.get(threadId) ?? { ...emptyThread(), writtenAtMs: this.#now() };
    thread.tags = new Set([...thread.tags, ...tags.map(tagKey)]);
    this.#threads.set(threadId, thread);
    if (thread.heads.size === 0) this.#lostHeads(threadId);
    return thread.revision;
  }

  async untagThread(threadId: string, tags: readonly ThreadTag[]): Promise<void> {
    const thread = this.#threads.get(threadId);
    if (thread === undefined) return;
    const gone = new Set(tags.map(tagKey));
    thread.tags = new Set([...thread.tags].filter((tag) => !gone.has(tag)));
  }

  async threadTags(threadId: string): Promise<ThreadTag[]> {
    return [...(this.#threads.get(threadId)?.tags ?? [])].map(tagOfKey);
  }

  async sweep(olderThanMs: number): Promise<number> {
    let swept = 0;
    for (const [threadId, sinceMs] of this.#headless) {
      const isTombstone = this.#threads.get(threadId)?.deleted === true;
      const keptMs = isTombstone ? Math.max(tombstoneMs, olderThanMs) : olderThanMs;
      if (this.#now() - sinceMs < keptMs) continue;
      this.#forget(threadId);
      swept += 1;
      if (swept === mostSwept) break;
    }
    const items = this.items.sweep();
    return (
      swept + this.#sweepLeases(olderThanMs) + this.#locks.sweep(olderThanMs) + items + this.caches.sweep()
    );
  }

  #sweepLeases(olderThanMs: number): number {
    const before = this.#leases.size;
    for (const [name, { untilMs }] of this.#leases)
      if (this.#now() - untilMs >= olderThanMs) this.#leases.delete(name);
    return before - this.#leases.size;
  }

  async diagnose(request: DiagnoseRequest): Promise<readonly Diagnosis[]> {
    return await diagnoseMemory(this.name, () => this.#threads.size, request);
  }

  async deleteUnchanged(threadId: string, revision: number): Promise<boolean> {
    if (this.#threads.get(threadId)?.revision !== revision) return false;
    await this.deleteThread(threadId);
    return true;
  }

  async ancestry(at: Address, seedTerms: readonly number[], limit: number): Promise<StoredCheckpoint[]> {
    const thread = this.#threads.get(at.threadId);
    const found: StoredCheckpoint[] = [];
    const open = new Set(seedTerms);
    let record = thread?.records.get(checkpointKey(at));
    while (found.length < limit && open.size > 0 && record?.parentId !== undefined) {
      record = thread!.records.get(checkpointKey({ ...at, checkpointId: record.parentId }));
      if (record === undefined) break;
      found.push(this.#stored(thread!, record));
      for (const term of record.terms) open.delete(term);
    }
    return found;
  }

  async copyThread(sourceId: string, targetId: string): Promise<boolean> {
    const source = this.#threads.get(sourceId);
    if (source === undefined || source.heads.size === 0) return false;
    const target = this.#open(targetId);
    for (const [key, record] of source.records) target.records.set(key, { ...record, threadId: targetId });
    for (const [hash, blob] of source.blobs) target.blobs.set(hash, blob);
    for (const [key, batches] of source.writes) target.writes.set(key, [...batches]);
    for (const [key, outcomes] of source.outcomes) target.outcomes.set(key, [...outcomes]);
    for (const [namespace, head] of source.heads) target.heads.set(namespace, head);
    target.tags = new Set([...target.tags, ...source.tags]);
    target.revision += Math.max(1, source.revision);
    this.#close(targetId, target, true);
    return true;
  }

  async adopt(copy: NamespaceCopy): Promise<void> {
    const { threadId, namespace, revision, head, record, untilMs } = copy;
    const thread = this.#threads.get(threadId) ?? emptyThread();
    if (revision < Math.max(thread.copyFloor, thread.copies.get(namespace)?.revision ?? 0)) return;
    thread.revision += 1;
    for (const blob of copy.blobs) if (!thread.blobs.has(blob.hash)) thread.blobs.set(blob.hash, blob);
    if (record !== undefined) thread.records.set(checkpointKey(record), record);
    if (head === undefined) thread.heads.delete(namespace);
    else {
      thread.heads.set(namespace, head);
      thread.writes.set(checkpointKey({ namespace, checkpointId: head }), [...copy.writes]);
      thread.outcomes.delete(checkpointKey({ namespace, checkpointId: head }));
    }
    thread.copies.set(namespace, { revision, untilMs });
    this.#close(threadId, thread, head !== undefined);
  }

  async invalidate(threadId: string, before = 0): Promise<void> {
    const thread = this.#threads.get(threadId) ?? emptyThread();
    thread.copyFloor = Math.max(thread.copyFloor, before);
    for (const [namespace, { revision }] of thread.copies)
      thread.copies.set(namespace, { revision, untilMs: 0 });
    if (thread.revision === 0 && before === 0) return;
    this.#threads.set(threadId, thread);
    if (thread.heads.size === 0) this.#lostHeads(threadId);
  }

  async lease(name: string, holder: string, forMs: number): Promise<boolean> {
    this.#refuseIfEnded();
    const held = this.#leases.get(name);
    if (held !== undefined && held.holder !== holder && held.untilMs > this.#now()) return false;
    if (forMs > 0) this.#leases.set(name, { holder, untilMs: this.#now() + forMs });
    else this.#leases.delete(name);
    return true;
  }

  async keyChecks(names: readonly string[]): Promise<ReadonlyMap<string, string>> {
    this.#refuseIfEnded();
    return new Map([...this.#keyChecks].filter(([name]) => names.includes(name)));
  }

  async claimKeyCheck(name: string, value: string): Promise<string> {
    this.#refuseIfEnded();
    const stored = this.#keyChecks.get(name) ?? value;
    this.#keyChecks.set(name, stored);
    return stored;
  }

  async lock(name: string, holder: string, forMs: number): Promise<LockState> {
    this.#refuseIfEnded();
    return this.#locks.lock(name, holder, forMs);
  }

  async unlock(name: string, holder: string): Promise<void> {
    this.#refuseIfEnded();
    this.#locks.unlock(name, holder);
  }

  async *tombstones({ deletedFromMs = 0, after }: TombstoneQuery): AsyncGenerator<Tombstone> {
    const all = [...this.#threads]
      .filter(([, { deleted, writtenAtMs }]) => deleted && writtenAtMs >= deletedFromMs)
      .map(([threadId, { writtenAtMs }]): Tombstone => ({ threadId, deletedAtMs: writtenAtMs }))
      .sort(byDeletion);
    yield* after === undefined ? all : all.filter((each) => byDeletion(each, after) > 0);
  }

  async strays(threadId: string): Promise<Address[]> {
    const { writes, records } = this.#threads.get(threadId) ?? emptyThread();
    return [...writes].flatMap(([key, batches]) => {
      if (batches.length === 0 || records.has(key)) return [];
      const [namespace, checkpointId] = JSON.parse(key) as [string, string];
      return [{ threadId, namespace, checkpointId }];
    });
  }

  async inspect(threadId: string): Promise<ThreadInspection | undefined> {
    const thread = this.#threads.get(threadId);
    if (thread === undefined) return undefined;
    const { revision, deleted, evicted, removedAt, heads } = thread;
    return {
      revision,
      deleted,
      evicted,
      removedAt,
      heads: new Map(heads),
      strays: await this.strays(threadId),
    };
  }

  /** @throws StratigraphError "CLOSED" */
  async ping(): Promise<void> {
    this.#refuseIfEnded();
  }

  /** Calls made afterwards are refused with code "CLOSED". */
  async end(): Promise<void> {
    this.#ended = true;
  }

  /** The thread to write to; an empty one if it isn't there. */
  #open(threadId: string): Thread {
    return this.#threads.get(threadId) ?? emptyThread();
  }

  #close(threadId: string, thread: Thread, begins: boolean): void {
    thread.writtenAtMs = this.#now();
    if (begins) {
      thread.deleted = false;
      thread.evicted = false;
    }
    this.#threads.set(threadId, thread);
    if (thread.heads.size === 0) this.#lostHeads(threadId);
    else this.#headless.delete(threadId);
  }

  /** Notes a thread without a checkpoint. Such threads are kept only for a while: drops those that are too old, or too many. */
  #lostHeads(threadId: string): void {
    // Its time begins anew, because the caller that wrote to it or tagged it is about to put a checkpoint.
    this.#headless.delete(threadId);
    this.#headless.set(threadId, this.#now());
    for (const [oldest, sinceMs] of this.#headless) {
      if (this.#now() - sinceMs < tombstoneMs && this.#headless.size <= mostHeadless) return;
      this.#forget(oldest);
    }
  }

  #forget(threadId: string): void {
    this.#headless.delete(threadId);
    this.#threads.delete(threadId);
  }

  #addWrites(thread: Thread, batch: Address & WriteBatch & { outcome?: WritesOutcome | undefined }): void {
    const { taskId, blobs, body } = batch;
    const batches = thread.writes.get(checkpointKey(batch)) ?? [];
    const outcomes = thread.outcomes.get(checkpointKey(batch)) ?? batches.map(() => undefined);
    batches.push({ taskId, blobs, body, order: thread.revision });
    thread.writes.set(checkpointKey(batch), batches);
    thread.outcomes.set(checkpointKey(batch), [...outcomes, batch.outcome]);
    thread.copies.delete(batch.namespace);
  }

  #writesOf(thread: Thread, at: { namespace: string; checkpointId: string }): StoredWriteBatch[] {
    return [...(thread.writes.get(checkpointKey(at)) ?? [])];
  }

  #stored(thread: Thread, record: CheckpointRecord): StoredCheckpoint {
    return { record, blobs: thread.blobs, writes: this.#writesOf(thread, record) };
  }
}

/** The part of an answer that says that a namespace is a copy which may still be trusted. */
function copyOf(thread: Thread, { namespace }: { namespace: string }, nowMs: number): Pick<Peek, "copy"> {
  const copy = thread.copies.get(namespace);
  return copy === undefined || copy.untilMs <= nowMs ? {} : { copy };
}

function infoOf(threadId: string, thread: Thread, { headTerms, status }: ThreadQuery): ThreadInfo {
  const { revision, heads, records, writtenAtMs, evicted } = thread;
  const head = heads.get("");
  const known = status === undefined ? undefined : statusOf(thread, head);
  const info = {
    threadId,
    revision,
    head,
    writtenAtMs,
    evicted,
    ...(known === undefined ? {} : { status: known }),
  };
  if (headTerms === undefined || head === undefined) return info;
  return { ...info, headRecord: records.get(checkpointKey({ namespace: "", checkpointId: head })) };
}

function statusOf(thread: Thread, head: string | undefined): ThreadStatus | undefined {
  const { revision, noted, records, writes, outcomes } = thread;
  if (noted?.revision === revision) return noted.status;
  if (head === undefined) return "idle";
  const key = checkpointKey({ namespace: "", checkpointId: head });
  const record = records.get(key);
  if (record === undefined) return undefined;
  const batches = writes.get(key) ?? [];
  return statusFrom(
    record.terms,
    batches.map(({ taskId }, place) => [taskId, outcomes.get(key)?.[place]]),
  );
}

/** Whether a thread stands as a query asks, or nobody knows. */
function stands({ status }: ThreadInfo, wanted: ThreadQuery["status"]): boolean {
  return wanted === undefined || status === undefined || status === wanted;
}

/** Whether a record carries all terms. True if the record isn't here, because it may carry them. */
function hasTerms(record: CheckpointRecord | undefined, terms: readonly number[] = []): boolean {
  return record === undefined || terms.every((term) => record.terms.includes(term));
}
