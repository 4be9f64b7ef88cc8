// long file: every method of the contract over one head per thread; what can be separated is in other files
import { InvalidOptionError, type ThreadInfo, type ThreadStatus, type Tier } from "@stratigraph/core";
import {
  appendTraffic,
  peekTraffic,
  readTraffic,
  writesTraffic,
  Calls,
  checkOptions,
  beginsThread,
  isHeadless,
} from "@stratigraph/core/internal";
import {
  storedSize,
  checkpointKey,
  isKeptWhole,
  isListed,
  tagKey,
  type Appended,
  type AppendRequest,
  type AppendWritesRequest,
  type Blob,
  type BlobHash,
  type BlobInfo,
  type BytesReplacer,
  type CheckpointRecord,
  type Diagnoser,
  type DiagnoseRequest,
  type Diagnosis,
  type KeyCheckKeeper,
  type LeaseKeeper,
  type Leftover,
  type LeftoverFinder,
  type ListedCheckpoint,
  type ListQuery,
  type MaybeAddress,
  type Namespace,
  type Peek,
  type Reading,
  type RemoveRequest,
  type ReplaceBytesRequest,
  type StoredCheckpoint,
  type StoredWriteBatch,
  type Sweeper,
  type ThreadInspection,
  type ThreadInspector,
  type ThreadQuery,
  type StatusKeeper,
  type ThreadState,
  type ThreadTag,
  type ThreadTagger,
  type UnchangedDeleter,
} from "@stratigraph/core/tier";
import { diagnose } from "./diagnose.ts";
import type { RecordEntry, WritesEntry } from "./entries.ts";
import { HeadIndex } from "./headIndex.ts";
import { KeyChecks } from "./keyChecks.ts";
import { Leases } from "./leases.ts";
import { lostHeads } from "./lostHeads.ts";
import type { ObjectStore } from "./objectStore.ts";
import { OrphanSweep } from "./orphanSweep.ts";
import { withStatus } from "./standing.ts";
import { appended, emptied, withBytes, without, withTags, withWrites } from "./threadChanges.ts";
import { ThreadStore, type Change, type ChangeOptions } from "./threadStore.ts";
import { closureOf, neededBy, type ThreadView } from "./threadView.ts";

/** How many checkpoints of a listing are read together at most, and how many bytes of values. A single checkpoint may have more. */
const pageSize = 100;
const pageBytes = 8 << 20;
/** A prefix without objects, because no key of a thread begins with a dot. */
const pingPrefix = ".ping/";

/** Options of a {@link PackTier}. */
export interface PackTierOptions {
  /** Size of the cache for what was read, in bytes. Default 64 MiB. */
  readonly cacheBytes?: number | undefined;
}

/**
 * Keeps threads in object storage. Each thread has a head (one object, replaced by compare-and-set) and immutable packs that the
 * head names. Small changes are stored in the head itself, so most appends are one request. At most two packs of a thread are open,
 * which means that they may still be merged. docs/format.md describes the objects.
 */
export class PackTier
  implements
    Tier,
    BytesReplacer,
    Diagnoser,
    KeyCheckKeeper,
    LeaseKeeper,
    LeftoverFinder,
    StatusKeeper,
    Sweeper,
    ThreadInspector,
    ThreadTagger,
    UnchangedDeleter
{
  readonly name: string;
  readonly remains = [
    {
      what: "an object of some 200 bytes, named after the thread, with its id (its tombstone)",
      // There is no `forMs`, because it depends on the server whether the tombstone is deleted.
      removedBy:
        "maintenance, a week after the deletion, where the server deletes on a condition (AWS does, Ceph 16 doesn't); older versions of objects are the bucket's, where it keeps them: give it a lifecycle rule",
    },
  ];
  readonly #store: ObjectStore;
  readonly #threadStore: ThreadStore;
  readonly #headIndex: HeadIndex;
  readonly #calls: Calls;
  readonly #keyChecks: KeyChecks;
  readonly #leases: Leases;
  readonly #sweep: OrphanSweep;
  #ended: Promise<void> | undefined;

  /** @throws InvalidOptionError */
  constructor(store: ObjectStore, options: PackTierOptions = {}) {
    checkOptions("PackTier", options, { cacheBytes: true });
    const { cacheBytes = 64 << 20 } = options;
    if (!Number.isSafeInteger(cacheBytes) || cacheBytes < 0)
      throw new InvalidOptionError(
        "cacheBytes",
        String(cacheBytes),
        "Use a whole number of bytes, 0 or more.",
      );
    if (typeof store?.get !== "function" || typeof store.put !== "function")
      throw new InvalidOptionError(
        "store",
        typeof store,
        "Pass an ObjectStore; s3() and folder() make tiers over one.",
      );
    this.name = store.name;
    this.#calls = new Calls(store.name);
    this.#store = store;
    this.#threadStore = new ThreadStore(store, cacheBytes);
    this.#headIndex = new HeadIndex(store);
    this.#keyChecks = new KeyChecks(store);
    this.#leases = new Leases(store);
    this.#sweep = new OrphanSweep(store, this.#leases);
  }

  async peek(at: MaybeAddress): Promise<Peek> {
    return await this.#calls.run("peek", at.threadId, () => this.#peek(at), peekTraffic);
  }

  async read(at: MaybeAddress): Promise<Reading> {
    return await this.#calls.run("read", at.threadId, () => this.#read(at), readTraffic);
  }

  list(query: ListQuery): AsyncGenerator<ListedCheckpoint> {
    return this.#calls.iterate("list", query.threadId, this.#list(query), storedSize);
  }

  threads(query: ThreadQuery): AsyncGenerator<ThreadInfo> {
    return this.#calls.iterate("threads", undefined, this.#headIndex.threads(query));
  }

  async blobs(threadId: string): Promise<BlobInfo[]> {
    return await this.#calls.run("blobs", threadId, () =>
      this.#threadStore.read({ threadId }, async ({ blobs }) =>
        [...blobs.values()].map(({ hash, base, size }) => ({ hash, base, size })),
      ),
    );
  }

  async append(request: AppendRequest): Promise<Appended> {
    // An import (archiving makes them) leaves one open pack, so that resuming the thread takes one request less. The pack isn't cached,
    // because the archiver must verify what the storage has.
    const imports = request.heads.some(({ expected }) => expected === "any");
    // Records that are kept whole are replaced to erase something, so the packs must lose the old ones.
    const erases = ({ records }: ThreadView): boolean =>
      request.records.some((record) => isKeptWhole(record.namespace) && records.has(checkpointKey(record)));
    const decide = (view: ThreadView): Change<Appended> => ({
      ...appended(view, request),
      begins: beginsThread(request),
      ...(imports ? { rewrite: "open" as const, skipCache: true } : {}),
      ...(!imports && erases(view) ? { rewrite: "all" as const } : {}),
    });
    return await this.#calls.run(
      "append",
      request.threadId,
      () => this.#threadStore.change(request.threadId, decide),
      () => appendTraffic(request),
    );
  }

  async appendWrites(request: AppendWritesRequest): Promise<void> {
    const decide = (view: ThreadView): Change<void> => ({
      next: withWrites(view, request),
      result: undefined,
    });
    await this.#calls.run(
      "appendWrites",
      request.threadId,
      () => this.#threadStore.change(request.threadId, decide),
      () => writesTraffic(request),
    );
  }

  async remove(request: RemoveRequest): Promise<boolean> {
    return await this.#change("remove", request.threadId, (view) => {
      if (view.head.revision === 0 || view.head.revision !== request.revision) return { result: false };
      return { next: without(view, request), result: true, rewrite: "all" };
    });
  }

  /** Replaces bytes, and deletes the packs that hold the old ones. */
  async replaceBytes(request: ReplaceBytesRequest): Promise<number | undefined> {
    return await this.#change("replaceBytes", request.threadId, (view): Change<number | undefined> => {
      const { revision } = view.head;
      if (revision === 0 || revision !== request.revision) return { result: undefined };
      const next = withBytes(view, request);
      return { next, result: next.head.revision, rewrite: "all" };
    });
  }

  async evict(threadId: string, revision: number): Promise<boolean> {
    return await this.#change(
      "evict",
      threadId,
      (view) => {
        if (view.head.revision === 0 || view.head.revision !== revision) return { result: false };
        return { next: emptied(view, "evicted"), result: true };
      },
      { headOnly: true },
    );
  }

  /**
   * Writes the tombstone first, then deletes the packs. If the process dies in between, the next call or {@link sweep} finishes. A thread that
   * isn't here gets one, too: a run may have read that, and not have stored anything yet.
   */
  async deleteThread(threadId: string): Promise<void> {
    await this.#calls.run("deleteThread", threadId, () => this.#delete(threadId));
  }

  async deleteUnchanged(threadId: string, revision: number): Promise<boolean> {
    return await this.#calls.run("deleteUnchanged", threadId, () => this.#delete(threadId, revision));
  }

  /** @param only delete the thread only if it is at this revision. Default: at any */
  async #delete(threadId: string, only?: number): Promise<boolean> {
    let headless: readonly string[] | undefined;
    const deleteIt = async () =>
      await this.#threadStore.change(
        threadId,
        ({ head, ...view }): Change<"changed" | "unknown" | "deleted"> => {
          const { tags = [] } = head;
          if (only !== undefined && head.revision !== only) return { result: "changed" };
          const result = head.revision === 0 && tags.length === 0 ? "unknown" : "deleted";
          if (result === "unknown" && headless === undefined) return { result };
          const { writes, blobs } = view;
          const left = head.packs.length + head.heads.size + writes.size + blobs.size + tags.length;
          const isDone = head.deleted && left === 0;
          return { result, ...(isDone ? {} : { next: emptied({ ...view, head }, "deleted") }) };
        },
        { headOnly: true },
      );
    let found = await deleteIt();
    if (found === "unknown") {
      // Listed before the tombstone is written: later ones are of the thread that begins anew.
      headless = await this.#threadStore.packsOf(threadId);
      found = await deleteIt();
    }
    if (found === "changed") return false;
    await this.#threadStore.discardPacks(threadId, found === "deleted" ? undefined : headless);
    return true;
  }

  async tagThread(threadId: string, tags: readonly ThreadTag[]): Promise<number> {
    return await this.#change("tagThread", threadId, (view) => {
      const { revision, tags: before = [] } = view.head;
      const has = new Set(before.map(tagKey));
      const added = tags.filter((tag) => !has.has(tagKey(tag)));
      return {
        result: revision,
        ...(added.length === 0 ? {} : { next: withTags(view, [...before, ...added]) }),
      };
    });
  }

  async untagThread(threadId: string, tags: readonly ThreadTag[]): Promise<void> {
    const gone = new Set(tags.map(tagKey));
    await this.#change("untagThread", threadId, (view) => {
      const { tags: before = [] } = view.head;
      const kept = before.filter((tag) => !gone.has(tagKey(tag)));
      return {
        result: undefined,
        ...(kept.length === before.length ? {} : { next: withTags(view, kept) }),
      };
    });
  }

  async noteStatus(threadId: string, revision: number, status: ThreadStatus): Promise<boolean> {
    return await this.#change(
      "noteStatus",
      threadId,
      (view) => {
        if (view.head.revision === 0 || view.head.revision !== revision) return { result: false };
        return { next: withStatus(view, status), result: true };
      },
      { headOnly: true },
    );
  }

  async threadTags(threadId: string): Promise<readonly ThreadTag[]> {
    return await this.#calls.run(
      "threadTags",
      threadId,
      async () => (await this.#threadStore.head(threadId)).head.tags ?? [],
    );
  }

  /** Makes two requests. This process's clock decides whether another holder's lease has expired. */
  async lease(name: string, holder: string, forMs: number): Promise<boolean> {
    return await this.#calls.run("lease", undefined, () => this.#leases.lease(name, holder, forMs));
  }

  async keyChecks(names: readonly string[]): Promise<ReadonlyMap<string, string>> {
    return await this.#calls.run("keyChecks", undefined, () => this.#keyChecks.read(names));
  }

  async claimKeyCheck(name: string, value: string): Promise<string> {
    return await this.#calls.run("claimKeyCheck", undefined, () => this.#keyChecks.claim(name, value));
  }

  /** The first threads in the order of their keys, because any other order would require listing the whole bucket. */
  async *someThreads(limit: number): AsyncGenerator<string> {
    yield* this.#calls.iterate("threads", undefined, this.#headIndex.firstThreadIds(limit));
  }

  async inspect(threadId: string): Promise<ThreadInspection | undefined> {
    return await this.#calls.run("inspect", threadId, () =>
      this.#threadStore.read({ threadId }, async ({ head, records, writes, etag }) => {
        if (etag === undefined) return undefined;
        const { revision, deleted, evicted, removedAt, heads } = head;
        const strays = [...writes].flatMap(([key, [batch]]) =>
          batch === undefined || records.has(key)
            ? []
            : [{ threadId, namespace: batch.namespace, checkpointId: batch.checkpointId }],
        );
        return { revision, deleted, evicted, removedAt, heads: new Map(heads), strays };
      }),
    );
  }

  async *leftovers(): AsyncGenerator<Leftover> {
    yield* this.#calls.iterate("leftovers", undefined, lostHeads(this.#store, Date.now()));
  }

  /** Always false: what deletions left is removed by deleting the thread again, and by {@link sweep}. */
  async dropLeftover(): Promise<boolean> {
    return false;
  }

  /**
   * Deletes packs that no head names, tombstones a week after the deletion, expired leases, and threads that hold only pending writes whose
   * checkpoint never came. A call looks at about a thousand objects, makes one request for each thread that has old ones among them, and
   * continues where the last call ended. Ages are the difference between this process's clock and the storage's.
   */
  async sweep(olderThanMs: number): Promise<number> {
    return await this.#calls.run("sweep", undefined, () => this.#sweep.run(Date.now() - olderThanMs));
  }

  /** @throws StratigraphError "NOT_SET_UP", "ACCESS_DENIED", "MISCONFIGURED", "DRIVER_MISSING", "STORAGE_FULL" */
  async setup(): Promise<void> {
    await this.#calls.run("setup", undefined, async () => await this.#store.setup?.());
  }

  /** @throws StratigraphError as any other call would */
  async ping(): Promise<void> {
    await this.#calls.run("ping", undefined, async () => {
      if (this.#store.ping !== undefined) return await this.#store.ping();
      // Listing a prefix without objects is one request, which fails without the bucket or the right to use it.
      for await (const _ of this.#store.list(pingPrefix)) return;
    });
  }

  /** Checks the bucket or folder and this user's rights. Rights to write are checked only if a probe object may be written. */
  async diagnose(request: DiagnoseRequest): Promise<readonly Diagnosis[]> {
    return await diagnose(this.#store, request);
  }

  /** Refuses new calls, waits up to ten seconds for those in progress, and closes what was opened here. */
  async end(): Promise<void> {
    await this.#calls.close();
    await (this.#ended ??= this.#store.end?.() ?? Promise.resolve());
  }

  async #peek(at: MaybeAddress): Promise<Peek> {
    return await this.#threadStore.read(at, async (view) => {
      const checkpointId = at.checkpointId ?? view.head.heads.get(at.namespace);
      const state = { ...(await this.#stateOf(view, at)), checkpointId };
      if (checkpointId === undefined) return { ...state, writes: [] };
      const key = checkpointKey({ namespace: at.namespace, checkpointId });
      const [stored] = await this.#stored(view, [key], () => []);
      return { ...state, writes: stored!.writes, record: stored!.record };
    });
  }

  async #read(at: MaybeAddress): Promise<Reading> {
    return await this.#threadStore.read(at, async (view) => {
      const state = await this.#stateOf(view, at);
      const checkpointId = at.checkpointId ?? state.head;
      if (checkpointId === undefined) return state;
      const key = checkpointKey({ namespace: at.namespace, checkpointId });
      const entry = view.records.get(key);
      const needed = entry === undefined ? undefined : closureOf(view, entry);
      if (needed === undefined) return state;
      const [stored] = await this.#stored(view, [key], () => needed);
      return { ...state, checkpoint: stored as StoredCheckpoint };
    });
  }

  /** A server isn't asked whether a new thread has lost its head: its first checkpoint asks. */
  async #stateOf(
    { head, records, etag }: ThreadView,
    { threadId, namespace }: Namespace,
  ): Promise<ThreadState> {
    const state = { revision: head.revision, head: head.heads.get(namespace) };
    if (namespace !== "" || state.head !== undefined) return state;
    const isNew = etag === undefined && this.#store.listsLocally === true;
    const headless = isNew
      ? await this.#threadStore.hasLostHead(threadId)
      : isHeadless({ heads: head.heads, records });
    return headless ? { ...state, headless } : state;
  }

  async *#list(query: ListQuery): AsyncGenerator<ListedCheckpoint> {
    let left = query.limit ?? Number.POSITIVE_INFINITY;
    const threads = query.threadId === undefined ? this.#headIndex.threadIds() : [query.threadId];
    for await (const threadId of threads) {
      if (left <= 0) return;
      for await (const listed of this.#listThread(threadId, query, left)) {
        left -= 1;
        yield listed;
      }
    }
  }

  async *#listThread(threadId: string, query: ListQuery, limit: number): AsyncGenerator<ListedCheckpoint> {
    // Take the heads from the same view as the keys: a later head may not be among these checkpoints.
    const { keys, heads } = await this.#threadStore.read({ threadId }, async (view) => ({
      keys: [...view.records.values()]
        .filter((record) => isListed(record, query))
        .sort(newestFirst)
        .slice(0, limit)
        .map((record) => checkpointKey(record)),
      heads: new Map(view.head.heads),
    }));
    const size = Math.min(pageSize, Math.max(1, query.limit ?? pageSize));
    for (let at = 0, next = 0; at < keys.length; at = next) {
      const listed = await this.#threadStore.read({ threadId }, async (view) => {
        const most = keys.slice(at, at + size);
        const page = query.recordsOnly === true ? most : fitting(view, most);
        next = at + page.length;
        const stored = await this.#stored(
          view,
          page.filter((key) => view.records.has(key)),
          (entry) => (query.recordsOnly === true ? [] : neededBy(view, entry)),
        );
        return stored.map((checkpoint) => ({
          ...(checkpoint as StoredCheckpoint),
          head: heads.get(checkpoint.record!.namespace),
        }));
      });
      yield* listed;
    }
  }

  /** Checkpoints with their pending writes and the requested blobs. A missing record is undefined; missing blobs are left out. */
  async #stored(
    view: ThreadView,
    keys: readonly string[],
    needs: (entry: RecordEntry) => readonly BlobHash[],
  ): Promise<
    { record: CheckpointRecord | undefined; writes: StoredWriteBatch[]; blobs: Map<BlobHash, Blob> }[]
  > {
    const records = keys.map((key) => view.records.get(key));
    const hashes = new Set(records.flatMap((entry) => (entry === undefined ? [] : needs(entry))));
    const entries = {
      blobs: [...hashes].flatMap((hash) => view.blobs.get(hash) ?? []),
      records: records.flatMap((entry) => entry ?? []),
      writes: keys.flatMap((key) => view.writes.get(key) ?? []),
    };
    const bytes = await this.#threadStore.bytes(view, entries);
    const blobs = new Map<BlobHash, Blob>();
    let next = 0;
    for (const { hash, base } of entries.blobs) blobs.set(hash, { hash, base, bytes: bytes[next++]! });
    const bodies = new Map<RecordEntry | WritesEntry, Uint8Array>();
    for (const entry of [...entries.records, ...entries.writes]) bodies.set(entry, bytes[next++]!);
    const { threadId } = view.head;
    return keys.map((key, position) => {
      const entry = records[position];
      return {
        record: entry === undefined ? undefined : recordOf(threadId, entry, bodies.get(entry)!),
        writes: (view.writes.get(key) ?? []).map((batch) => ({
          taskId: batch.taskId,
          blobs: batch.blobs,
          order: batch.order,
          body: bodies.get(batch)!,
        })),
        blobs,
      };
    });
  }

  async #change<T>(
    method: string,
    threadId: string,
    decide: (view: ThreadView) => Change<T>,
    options?: ChangeOptions,
  ): Promise<T> {
    return await this.#calls.run(method, threadId, () => this.#threadStore.change(threadId, decide, options));
  }
}

/** The first of these checkpoints, with at most {@link pageBytes} of values together, but at least one checkpoint. */
function fitting(view: ThreadView, keys: readonly string[]): readonly string[] {
  const counted = new Set<BlobHash>();
  let bytes = 0;
  for (const [place, key] of keys.entries()) {
    const entry = view.records.get(key);
    for (const hash of entry === undefined ? [] : neededBy(view, entry)) {
      if (counted.has(hash)) continue;
      counted.add(hash);
      bytes += view.blobs.get(hash)?.size ?? 0;
    }
    if (bytes > pageBytes && place > 0) return keys.slice(0, place);
  }
  return keys;
}

function newestFirst(a: RecordEntry, b: RecordEntry): number {
  if (a.checkpointId === b.checkpointId) return 0;
  return a.checkpointId < b.checkpointId ? 1 : -1;
}

function recordOf(
  threadId: string,
  { place: _place, ...entry }: RecordEntry,
  body: Uint8Array,
): CheckpointRecord {
  return { threadId, ...entry, body };
}
