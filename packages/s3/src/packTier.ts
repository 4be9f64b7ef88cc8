// long file: every method of the contract over one head per thread; what can stand alone is in files of its own
import { randomBytes } from "node:crypto";
import {
  isListed,
  Calls,
  checkOptions,
  CorruptionError,
  InvalidOptionError,
  StratigraphError,
  tagKey,
  type Appended,
  type AppendRequest,
  type AppendWritesRequest,
  type Blob,
  type BlobHash,
  type BlobInfo,
  type BytesReplacer,
  type CheckpointRecord,
  type ListedCheckpoint,
  type ListQuery,
  type MaybeAddress,
  type Peek,
  type Reading,
  type RemoveRequest,
  type ReplaceBytesRequest,
  type StoredCheckpoint,
  type StoredWriteBatch,
  type Sweeper,
  type ThreadInfo,
  type ThreadQuery,
  type ThreadTag,
  type ThreadTagger,
  type Tier,
} from "@stratigraph/core";
import { LRUCache } from "lru-cache";
import { appended, emptied, withBytes, without, withTags, withWrites } from "./threadChanges.ts";
import type { ListedObject, ObjectStore } from "./objectStore.ts";
import { DamagedObject, MissingObject } from "./objectErrors.ts";
import { decodeHead, encodeHead, type Head } from "./head.ts";
import { placesOf, type Lines, type Place, type RecordLine, type WritesLine } from "./entries.ts";
import { packsToMerge, tailLimitBytes } from "./packsToMerge.ts";
import { Mutex } from "./mutex.ts";
import { encodePack, type PackRef } from "./packFile.ts";
import { PackReader } from "./packReader.ts";
import { Sweep } from "./orphanSweep.ts";
import { threadKey } from "./threadKey.ts";
import {
  closureOf,
  emptyHead,
  lineKey,
  linesWhere,
  moved,
  neededBy,
  viewOf,
  type ThreadView,
} from "./threadView.ts";

/** Writers of the last revisions that a head names: more than meet in the time a request may take. */
const rememberedWriters = 32;
/** How long a writer that keeps losing the head goes on, and its longest pause, in milliseconds. */
const contendMs = 60_000;
const longestPauseMs = 200;
/** How often a reader begins anew because the thread was rewritten under it. */
const rereads = 8;
/** Checkpoints of a listing whose bytes are read together. */
const pageSize = 100;
/** Heads that are read ahead where all threads are listed. */
const headsAhead = 8;
/** Where no thread is: thread keys have no dots. */
const pingPrefix = ".ping/";
/** Half of the cache is for packs, half for views; a view's line takes so many bytes, roughly. */
const lineBytes = 300;

/** Options of a {@link PackTier}. */
export interface PackTierOptions {
  /** Memory for what was read, in bytes. Default 64 MiB. */
  readonly cacheBytes?: number | undefined;
}

/** What a listing of threads remembers of a head. */
interface IndexedHead {
  readonly version: string;
  /** Absent where the thread has no checkpoint. */
  readonly info: ThreadInfo | undefined;
  /** By `tagKey`. */
  readonly tags: ReadonlySet<string>;
}

/** What a change makes of a view. `next` absent: nothing changes. */
interface Change<T> {
  readonly next?: ThreadView;
  readonly result: T;
  /** Which packs are written anew: "all" where bytes have to go, "open" to leave one. Default: as merging.ts says. */
  readonly rewrite?: "all" | "open" | undefined;
  /** Nothing of it is remembered, so that who reads it next reads what the storage has. */
  readonly forget?: boolean | undefined;
}

function sizeOf({ head, blobs, records, writes }: ThreadView): number {
  return (blobs.size + records.size + writes.size + head.packs.length + 1) * lineBytes + tailLimitBytes;
}

/**
 * Threads in object storage: a head (one object per thread, moved by compare-and-set) and immutable packs that it names.
 * Small changes lie in the head itself, so most appends are one request, and no thread has more than two packs that
 * still grow. docs/format.md describes the objects.
 */
export class PackTier implements Tier, BytesReplacer, ThreadTagger, Sweeper {
  readonly name: string;
  readonly remains = [
    {
      what: "an object of some 200 bytes, named after the thread, with its id (its tombstone)",
      // No time: whether it goes is the server's matter.
      removedBy:
        "maintenance, a week after the deletion, where the server deletes on a condition (AWS does, Ceph 16 doesn't); older versions of objects are the bucket's, where it keeps them: give it a lifecycle rule",
    },
  ];
  readonly #store: ObjectStore;
  readonly #reader: PackReader;
  readonly #views: LRUCache<string, ThreadView>;
  readonly #infos = new LRUCache<string, IndexedHead>({ maxSize: 10_000, sizeCalculation: () => 1 });
  readonly #mutex = new Mutex();
  readonly #calls: Calls;
  readonly #sweep: Sweep;
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
    this.#sweep = new Sweep(store);
    this.#reader = new PackReader(store, cacheBytes / 2);
    this.#views = new LRUCache({ maxSize: Math.max(1, cacheBytes / 2), sizeCalculation: sizeOf });
  }

  async peek(at: MaybeAddress): Promise<Peek> {
    return await this.#calls.run("peek", at.threadId, () => this.#peek(at));
  }

  async read(at: MaybeAddress): Promise<Reading> {
    return await this.#calls.run("read", at.threadId, () => this.#read(at));
  }

  list(query: ListQuery): AsyncGenerator<ListedCheckpoint> {
    return this.#calls.iterate("list", query.threadId, this.#list(query));
  }

  threads(query: ThreadQuery): AsyncGenerator<ThreadInfo> {
    return this.#calls.iterate("threads", undefined, this.#threads(query));
  }

  async blobs(threadId: string): Promise<BlobInfo[]> {
    return await this.#calls.run("blobs", threadId, () =>
      this.#reading({ threadId }, async ({ blobs }) =>
        [...blobs.values()].map(({ hash, base, size }) => ({ hash, base, size })),
      ),
    );
  }

  async append(request: AppendRequest): Promise<Appended> {
    // An import, as archiving makes it, ends with one pack at most: that is one request less to whoever resumes. And it is
    // read back to verify it, which would show nothing if it came from memory.
    const imports = request.heads.some(({ expected }) => expected === "any");
    return await this.#change("append", request.threadId, (view) => ({
      ...appended(view, request),
      ...(imports ? { rewrite: "open" as const, forget: true } : {}),
    }));
  }

  async appendWrites(request: AppendWritesRequest): Promise<void> {
    await this.#change("appendWrites", request.threadId, (view) => ({
      next: withWrites(view, request),
      result: undefined,
    }));
  }

  async remove(request: RemoveRequest): Promise<boolean> {
    return await this.#change("remove", request.threadId, (view) => {
      if (view.head.revision === 0 || view.head.revision !== request.revision) return { result: false };
      return { next: without(view, request), result: true, rewrite: "all" };
    });
  }

  /** The packs with the bytes before are deleted. */
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

  /** The tombstone first, then the objects: one that died between is finished by the next call, or by {@link sweep}. */
  async deleteThread(threadId: string): Promise<void> {
    await this.#calls.run("deleteThread", threadId, async () => {
      const isKnown = await this.#changed(
        threadId,
        ({ head, ...view }) => {
          const { tags = [] } = head;
          if (head.revision === 0 && tags.length === 0) return { result: false };
          const { writes, blobs } = view;
          const left = head.packs.length + head.heads.size + writes.size + blobs.size + tags.length;
          const isDone = head.deleted && left === 0;
          return isDone ? { result: true } : { next: emptied({ ...view, head }, "deleted"), result: true };
        },
        { headOnly: true },
      );
      if (isKnown) await this.#discardOutdated(threadId);
      else await this.#discardAll(threadId);
    });
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

  async threadTags(threadId: string): Promise<readonly ThreadTag[]> {
    return await this.#calls.run(
      "threadTags",
      threadId,
      async () => (await this.#head(threadId)).head.tags ?? [],
    );
  }

  /**
   * Takes away packs that no head names, tombstones a week after their deletion, and threads of nothing but pending writes whose
   * checkpoint never came. A call looks at a thousand objects, with a request for each thread among them that is old enough,
   * and goes on where the last one ended. Ages are by the storage's clock, compared with this process's.
   */
  async sweep(olderThanMs: number): Promise<number> {
    return await this.#calls.run("sweep", undefined, () => this.#sweep.run(Date.now() - olderThanMs));
  }

  /** @throws StratigraphError what the store can't do: "NOT_SET_UP", "ACCESS_DENIED", "MISCONFIGURED", "DRIVER_MISSING", "STORAGE_FULL" */
  async setup(): Promise<void> {
    await this.#calls.run("setup", undefined, async () => await this.#store.setup?.());
  }

  /** @throws StratigraphError, as any other call would */
  async ping(): Promise<void> {
    await this.#calls.run("ping", undefined, async () => {
      if (this.#store.ping !== undefined) return await this.#store.ping();
      // One request, for what isn't there: it needs the bucket and the right to use it.
      for await (const _ of this.#store.list(pingPrefix)) return;
    });
  }

  /** Lets calls under way end, for ten seconds at most, refuses later ones, and closes what was opened here. */
  async end(): Promise<void> {
    await this.#calls.close();
    await (this.#ended ??= this.#store.end?.() ?? Promise.resolve());
  }

  async #peek(at: MaybeAddress): Promise<Peek> {
    return await this.#reading(at, async (view) => {
      const head = view.head.heads.get(at.namespace);
      const checkpointId = at.checkpointId ?? head;
      const state = { revision: view.head.revision, head, checkpointId };
      if (checkpointId === undefined) return { ...state, writes: [] };
      const key = lineKey({ namespace: at.namespace, checkpointId });
      const [stored] = await this.#stored(view, [key], () => []);
      return { ...state, writes: stored!.writes, record: stored!.record };
    });
  }

  async #read(at: MaybeAddress): Promise<Reading> {
    return await this.#reading(at, async (view) => {
      const head = view.head.heads.get(at.namespace);
      const state = { revision: view.head.revision, head };
      const checkpointId = at.checkpointId ?? head;
      if (checkpointId === undefined) return state;
      const key = lineKey({ namespace: at.namespace, checkpointId });
      const line = view.records.get(key);
      const needed = line === undefined ? undefined : closureOf(view, line);
      if (needed === undefined) return state;
      const [stored] = await this.#stored(view, [key], () => needed);
      return { ...state, checkpoint: stored as StoredCheckpoint };
    });
  }

  async *#list(query: ListQuery): AsyncGenerator<ListedCheckpoint> {
    let left = query.limit ?? Number.POSITIVE_INFINITY;
    const threads = query.threadId === undefined ? this.#threadIds() : [query.threadId];
    for await (const threadId of threads) {
      if (left <= 0) return;
      for await (const listed of this.#listThread(threadId, query, left)) {
        left -= 1;
        yield listed;
      }
    }
  }

  async *#threads(query: ThreadQuery): AsyncGenerator<ThreadInfo> {
    const direction = query.order === "newest" ? -1 : 1;
    const order = (a: { modifiedMs: number; key: string }, b: { modifiedMs: number; key: string }): number =>
      direction * (a.modifiedMs - b.modifiedMs || (a.key < b.key ? -1 : Number(a.key > b.key)));
    const { after, writtenBeforeMs = Number.POSITIVE_INFINITY } = query;
    const from =
      after === undefined ? undefined : { modifiedMs: after.writtenAtMs, key: headKey(after.threadId) };
    const heads = (await this.#heads())
      .filter((head) => head.modifiedMs < writtenBeforeMs && (from === undefined || order(head, from) > 0))
      .sort(order);
    let left = query.limit ?? Number.POSITIVE_INFINITY;
    for (let at = 0; at < heads.length && left > 0; at += headsAhead) {
      const indexed = await Promise.all(heads.slice(at, at + headsAhead).map((head) => this.#indexed(head)));
      for (const { info, tags } of indexed) {
        if (info === undefined || (query.includeEvicted === false && info.evicted)) continue;
        if (query.tags?.every((tag) => tags.has(tagKey(tag))) === false) continue;
        yield info;
        left -= 1;
        if (left <= 0) return;
      }
    }
  }

  async *#listThread(threadId: string, query: ListQuery, limit: number): AsyncGenerator<ListedCheckpoint> {
    const keys = await this.#reading({ threadId }, async (view) =>
      [...view.records.values()]
        .filter((record) => isListed(record, query))
        .sort(newestFirst)
        .slice(0, limit)
        .map(lineKey),
    );
    const size = Math.min(pageSize, Math.max(1, query.limit ?? pageSize));
    for (let at = 0; at < keys.length; at += size) {
      const page = keys.slice(at, at + size);
      const listed = await this.#reading({ threadId }, async (view) => {
        const stored = await this.#stored(
          view,
          page.filter((key) => view.records.has(key)),
          (line) => (query.recordsOnly === true ? [] : neededBy(view, line)),
        );
        return stored.map((checkpoint) => ({
          ...(checkpoint as StoredCheckpoint),
          head: view.head.heads.get(checkpoint.record!.namespace),
        }));
      });
      yield* listed;
    }
  }

  /** Checkpoints with their pending writes and the blobs asked for, as far as they are here. */
  async #stored(
    view: ThreadView,
    keys: readonly string[],
    needs: (line: RecordLine) => readonly BlobHash[],
  ): Promise<
    { record: CheckpointRecord | undefined; writes: StoredWriteBatch[]; blobs: Map<BlobHash, Blob> }[]
  > {
    const records = keys.map((key) => view.records.get(key));
    const hashes = new Set(records.flatMap((line) => (line === undefined ? [] : needs(line))));
    const lines = {
      blobs: [...hashes].flatMap((hash) => view.blobs.get(hash) ?? []),
      records: records.flatMap((line) => line ?? []),
      writes: keys.flatMap((key) => view.writes.get(key) ?? []),
    };
    const bytes = await this.#bytes(view, lines);
    const blobs = new Map<BlobHash, Blob>();
    let next = 0;
    for (const { hash, base } of lines.blobs) blobs.set(hash, { hash, base, bytes: bytes[next++]! });
    const bodies = new Map<RecordLine | WritesLine, Uint8Array>();
    for (const line of [...lines.records, ...lines.writes]) bodies.set(line, bytes[next++]!);
    const { threadId } = view.head;
    return keys.map((key, position) => {
      const line = records[position];
      return {
        record: line === undefined ? undefined : recordOf(threadId, line, bodies.get(line)!),
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

  async #bytes(view: ThreadView, lines: Lines): Promise<Uint8Array[]> {
    return await this.#reader.bytes(view.head.threadId, view.head.packs, placesOf(lines));
  }

  /** Reads a thread; again, where it was rewritten meanwhile. @throws CorruptionError, StratigraphError "CORRUPT" */
  async #reading<T>(
    at: Partial<MaybeAddress> & { threadId: string },
    work: (view: ThreadView) => Promise<T>,
  ): Promise<T> {
    let failed: { etag: string | undefined } | undefined;
    for (let attempt = 1; ; attempt += 1) {
      const found = await this.#head(at.threadId);
      try {
        return await work(await this.#view(found));
      } catch (error) {
        if (!(error instanceof MissingObject))
          throw error instanceof DamagedObject ? corrupt(at, error) : error;
        // The same head once more: it isn't that the thread was rewritten, the object is gone.
        if ((failed !== undefined && failed.etag === found.etag) || attempt >= rereads)
          throw corrupt(at, error);
        failed = { etag: found.etag };
      }
    }
  }

  /** The head as it is now, with what lies in it; the whole view where that is remembered. */
  async #head(threadId: string): Promise<ThreadView & { readonly whole: boolean }> {
    const remembered = this.#views.get(threadId);
    const key = headKey(threadId);
    const found = await this.#store.get(key, { unless: remembered?.etag });
    if (found === "unchanged" && remembered !== undefined) return { ...remembered, whole: true };
    if (found === undefined || found === "unchanged") {
      const empty = viewOf(emptyHead(threadId), undefined, []);
      // Who looks whether a thread is there, and then writes it, needn't ask again: the write says "if none".
      this.#views.set(threadId, empty);
      return { ...empty, whole: true };
    }
    try {
      const { head, tail } = await decodeHead(found.bytes);
      if (head.threadId !== threadId)
        throw new RangeError(`it belongs to thread ${JSON.stringify(head.threadId)}`);
      return { ...viewOf(head, found.etag, [tail]), whole: false };
    } catch (error) {
      throw corrupt({ threadId }, new DamagedObject(key, error));
    }
  }

  /** @throws MissingObject, DamagedObject */
  async #view({ whole, ...view }: ThreadView & { readonly whole: boolean }): Promise<ThreadView> {
    if (whole) return view;
    const { threadId, packs } = view.head;
    const catalogs = await Promise.all(packs.map((ref) => this.#reader.catalog(ref, threadId)));
    const full = viewOf(view.head, view.etag, [
      ...catalogs.map(({ lines }) => lines),
      linesWhere(view, () => true),
    ]);
    const known = this.#views.get(threadId);
    if (known === undefined || known.head.revision <= full.head.revision) this.#views.set(threadId, full);
    return full;
  }

  async #change<T>(
    method: string,
    threadId: string,
    decide: (view: ThreadView) => Change<T>,
    options?: { headOnly: boolean },
  ): Promise<T> {
    return await this.#calls.run(method, threadId, () => this.#changed(threadId, decide, options));
  }

  /**
   * Changes a thread by compare-and-set of its head; again, where another writer was first.
   * @param decide may be called often, and throws what refuses the change. A refusal by a remembered view is not
   * believed before the head was read.
   */
  async #changed<T>(
    threadId: string,
    decide: (view: ThreadView) => Change<T>,
    { headOnly }: { headOnly: boolean } = { headOnly: false },
  ): Promise<T> {
    return await this.#mutex.run(threadId, async () => {
      const deadline = Date.now() + contendMs;
      const remembered = this.#views.get(threadId);
      if (remembered !== undefined && !headOnly) {
        const done = await this.#attempt(remembered, decide).catch((error: unknown) => {
          if (isDecision(error) || error instanceof MissingObject) return undefined;
          throw error instanceof DamagedObject ? corrupt({ threadId }, error) : error;
        });
        if (done?.changed === true) return done.result;
      }
      for (let attempt = 1; attempt === 1 || Date.now() < deadline; attempt += 1) {
        const done = headOnly
          ? await this.#attempt(await this.#head(threadId), decide)
          : await this.#reading({ threadId }, (view) => this.#attempt(view, decide));
        if (done !== undefined) return done.result;
        const pauseMs = Math.min(longestPauseMs, 5 * 2 ** Math.min(attempt, 8)) * Math.random();
        await new Promise((resolve) => setTimeout(resolve, pauseMs));
      }
      throw new StratigraphError(
        "OVERLOADED",
        `Thread ${JSON.stringify(threadId)}: other writers moved its head again and again for ${contendMs} ms. Repeat the call.`,
        { threadId },
      );
    });
  }

  /** One try. Undefined: another writer was first, and nothing was stored. */
  async #attempt<T>(
    view: ThreadView,
    decide: (view: ThreadView) => Change<T>,
  ): Promise<{ changed: boolean; result: T } | undefined> {
    const { next, result, rewrite, forget = false } = decide(view);
    if (next === undefined) return { changed: false, result };
    const writer = randomBytes(6).toString("hex");
    const { threadId } = view.head;
    const { shaped, uploaded } = await this.#shape(next, writer, { rewrite, forget });
    const head: Head = {
      ...shaped.head,
      writers: [writer, ...shaped.head.writers].slice(0, rememberedWriters),
    };
    const tail = linesWhere(shaped, (place) => place instanceof Uint8Array);
    const bytes = await encodeHead(head, tail, placesOf(tail) as Uint8Array[]);
    const condition = view.etag === undefined ? { ifNoneMatch: "*" as const } : { ifMatch: view.etag };
    const etag = await this.#store.put(headKey(threadId), bytes, condition);
    if (etag !== undefined && !forget) this.#views.set(threadId, { ...shaped, head, etag });
    else if (etag !== undefined) this.#views.delete(threadId);
    else {
      this.#views.delete(threadId);
      const now = await this.#head(threadId);
      if (!now.head.writers.includes(writer)) {
        if (uploaded !== undefined) await this.#discard([uploaded]);
        return undefined;
      }
      // It was this put, whose answer was lost; and maybe others since.
    }
    const named = new Set(head.packs.map(({ key }) => key));
    await this.#discard(view.head.packs.filter(({ key }) => !named.has(key)));
    return { changed: true, result };
  }

  /** Moves what lies in the head into packs where it is time. */
  async #shape(
    view: ThreadView,
    writer: string,
    { rewrite, forget }: Pick<Change<unknown>, "rewrite" | "forget">,
  ): Promise<{ shaped: ThreadView; uploaded: PackRef | undefined }> {
    const tailBytes = bytesIn(linesWhere(view, (place) => place instanceof Uint8Array));
    const merged = packsToMerge(view.head.packs, tailBytes, rewrite);
    if (merged === undefined) return { shaped: view, uploaded: undefined };
    const goes = new Set(merged.map(({ key }) => key));
    const kept = view.head.packs.filter(({ key }) => !goes.has(key));
    const lines = linesWhere(view, (place) => place instanceof Uint8Array || goes.has(place.pack));
    const bytes = await this.#bytes(view, lines);
    const size = bytes.reduce((sum, each) => sum + each.length, 0);
    if (size <= tailLimitBytes) {
      const inHead = placed(lines, bytes);
      const head = { ...view.head, packs: kept };
      return { shaped: { ...moved(view, lines, inHead), head }, uploaded: undefined };
    }
    const { threadId, revision } = view.head;
    const keyOf = (hash: string): string =>
      `${threadKey(threadId)}/${String(revision).padStart(revisionDigits, "0")}-${hash.slice(0, 16)}-${writer}.pack`;
    const large = kept.length === 0 || rewrite !== undefined;
    const { ref, content, catalog } = await encodePack(threadId, lines, bytes, keyOf, large);
    await this.#store.put(ref.key, content);
    if (forget !== true) this.#reader.remember(ref, catalog, content);
    const head = { ...view.head, packs: [...kept, ref] };
    return { shaped: { ...moved(view, lines, catalog.lines), head }, uploaded: ref };
  }

  /** Deletes packs that nothing names. What stays behind is found by {@link sweep}. */
  async #discard(packs: readonly PackRef[]): Promise<void> {
    await this.#store.delete(packs.map(({ key }) => key)).catch(() => undefined);
  }

  /** Deletes packs of a deleted thread that its head doesn't name and won't. */
  async #discardOutdated(threadId: string): Promise<void> {
    const { head } = await this.#head(threadId);
    const named = new Set(head.packs.map(({ key }) => key));
    const packs = await this.#packsOf(threadId);
    // A pack is written for one revision. Once another writer made that, nothing can name it any more.
    await this.#store.delete(packs.filter((key) => !named.has(key) && revisionOf(key) <= head.revision));
  }

  /** Packs of a thread that never had a head: an import that died between pack and head. */
  async #discardAll(threadId: string): Promise<void> {
    await this.#store.delete(await this.#packsOf(threadId));
  }

  async #packsOf(threadId: string): Promise<string[]> {
    const keys: string[] = [];
    for await (const { key } of this.#store.list(`${threadKey(threadId)}/`))
      if (key.endsWith(".pack")) keys.push(key);
    return keys;
  }

  async #heads(): Promise<ListedObject[]> {
    const heads: ListedObject[] = [];
    for await (const object of this.#store.list("")) if (object.key.endsWith("/head")) heads.push(object);
    return heads;
  }

  async #indexed(listed: ListedObject): Promise<IndexedHead> {
    const known = this.#infos.get(listed.key);
    if (known !== undefined && known.version === listed.version) return known;
    const found = await this.#store.get(listed.key);
    if (found === undefined || found === "unchanged")
      return { version: listed.version, info: undefined, tags: new Set() };
    const { head } = await decodeHead(found.bytes).catch((error: unknown) => {
      throw corrupt({}, new DamagedObject(listed.key, error));
    });
    const { threadId, revision, evicted, heads, tags = [] } = head;
    const info =
      heads.size === 0
        ? undefined
        : { threadId, revision, head: heads.get(""), writtenAtMs: listed.modifiedMs, evicted };
    const indexed = { version: listed.version, info, tags: new Set(tags.map(tagKey)) };
    this.#infos.set(listed.key, indexed);
    return indexed;
  }

  async *#threadIds(): AsyncGenerator<string> {
    for (const head of await this.#heads()) {
      const { info } = await this.#indexed(head);
      if (info !== undefined) yield info.threadId;
    }
  }
}

/** Digits of a revision in the key of a pack. */
const revisionDigits = 12;

function revisionOf(packKey: string): number {
  const name = packKey.slice(packKey.lastIndexOf("/") + 1);
  return Number(name.slice(0, revisionDigits));
}

function headKey(threadId: string): string {
  return `${threadKey(threadId)}/head`;
}

function newestFirst(a: RecordLine, b: RecordLine): number {
  if (a.checkpointId === b.checkpointId) return 0;
  return a.checkpointId < b.checkpointId ? 1 : -1;
}

function recordOf(
  threadId: string,
  { place: _place, ...line }: RecordLine,
  body: Uint8Array,
): CheckpointRecord {
  return { threadId, ...line, body };
}

function lengthOf(place: Place): number {
  return place.length;
}

function bytesIn(lines: Lines): number {
  return placesOf(lines).reduce((sum, place) => sum + lengthOf(place), 0);
}

/** Lines with their bytes in memory. */
function placed(lines: Lines, bytes: readonly Uint8Array[]): Lines {
  let next = 0;
  const at = <L extends { place: Place }>(line: L): L => ({ ...line, place: bytes[next++]! });
  return { blobs: lines.blobs.map(at), records: lines.records.map(at), writes: lines.writes.map(at) };
}

/** Whether an error is what a view decided, rather than the storage. */
function isDecision(error: unknown): boolean {
  return ["CHECKPOINT_CONFLICT", "THREAD_DELETED", "STALE_READ"].some((code) =>
    StratigraphError.is(error, code as "STALE_READ"),
  );
}

function corrupt(
  { threadId, namespace, checkpointId }: Partial<MaybeAddress>,
  error: MissingObject | DamagedObject,
): StratigraphError {
  if (threadId !== undefined && namespace !== undefined && checkpointId !== undefined)
    return new CorruptionError({ threadId, namespace, checkpointId }, error.message, error);
  const which = threadId === undefined ? "A thread" : `Thread ${JSON.stringify(threadId)}`;
  return new StratigraphError(
    "CORRUPT",
    `${which} can't be read: ${error.message}. The stored bytes were damaged, tampered with or lost; restore them from a backup ` +
      `(or an older version of the object).`,
    { threadId, key: error.key },
    error,
  );
}
