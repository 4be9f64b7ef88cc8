import { randomBytes } from "node:crypto";
import { StratigraphError } from "@stratigraph/core";
import { headlessError } from "@stratigraph/core/internal";
import type { MaybeAddress } from "@stratigraph/core/tier";
import { LRUCache } from "lru-cache";
import { corruptThread } from "./corruptThread.ts";
import { bytesIn, inMemory, placesOf, type Entries } from "./entries.ts";
import { decodeHead, encodeHead, type Head } from "./head.ts";
import { hasLostHead } from "./lostHeads.ts";
import { Mutex } from "./mutex.ts";
import { DamagedObject, MissingObject } from "./objectErrors.ts";
import type { ObjectStore } from "./objectStore.ts";
import { encodePack, type PackRef } from "./packFile.ts";
import { PackReader } from "./packReader.ts";
import { packsToMerge, tailLimitBytes } from "./packsToMerge.ts";
import { headKey, packKey, packPrefix, revisionOf } from "./threadKey.ts";
import { emptyHead, entriesWhere, viewOf, withPlaces, type ThreadView } from "./threadView.ts";

/** How many of its last writers a head names: more than can write to a thread while one request is in progress. */
const rememberedWriters = 32;
/** How long a writer keeps trying while others move the head first, and its longest pause between attempts; in milliseconds. */
const contendMs = 60_000;
const longestPauseMs = 200;
/** How often a read is tried if the thread is rewritten meanwhile. */
const rereads = 8;
/** About how much memory an entry of a cached view takes, in bytes. */
const entryBytes = 300;

/** The result of a change. If `next` is absent, nothing changes. */
export interface Change<T> {
  readonly next?: ThreadView;
  readonly result: T;
  /** Which packs are rewritten: "all" if bytes must be deleted, "open" to leave one open pack. Default: packsToMerge.ts decides by size. */
  readonly rewrite?: "all" | "open" | undefined;
  /** It begins the thread: its head must not be lost. */
  readonly begins?: boolean | undefined;
  /** Don't cache the result, so that the next reader sees what the storage has. */
  readonly skipCache?: boolean | undefined;
}

/** How a thread is changed. */
export interface ChangeOptions {
  /** `decide` needs only the head, so the packs aren't read. */
  readonly headOnly: boolean;
}

/** A view. Unless it is `whole`, only the head was read, so that it lacks the entries of the packs. */
type HeadView = ThreadView & { readonly whole: boolean };

function sizeOf({ head, blobs, records, writes }: ThreadView): number {
  return (blobs.size + records.size + writes.size + head.packs.length + 1) * entryBytes + tailLimitBytes;
}

/**
 * Reads the objects of threads (heads and packs) into views, which it caches, and changes threads by compare-and-set of the head.
 */
export class ThreadStore {
  readonly #store: ObjectStore;
  readonly #reader: PackReader;
  readonly #views: LRUCache<string, ThreadView>;
  readonly #mutex = new Mutex();

  /** @param cacheBytes size of the caches: one half is for packs, the other for views */
  constructor(store: ObjectStore, cacheBytes: number) {
    this.#store = store;
    this.#reader = new PackReader(store, cacheBytes / 2);
    this.#views = new LRUCache({ maxSize: Math.max(1, cacheBytes / 2), sizeCalculation: sizeOf });
  }

  /**
   * Reads a thread, and starts over if the thread is rewritten meanwhile.
   * @throws CorruptionError, StratigraphError "CORRUPT"
   */
  async read<T>(
    at: Partial<MaybeAddress> & { threadId: string },
    work: (view: ThreadView) => Promise<T>,
  ): Promise<T> {
    let failed: { etag: string | undefined } | undefined;
    for (let attempt = 1; ; attempt += 1) {
      const found = await this.head(at.threadId);
      try {
        return await work(await this.#view(found));
      } catch (error) {
        if (!(error instanceof MissingObject))
          throw error instanceof DamagedObject ? corruptThread(at, error) : error;
        // If the head is the same as before, the thread wasn't rewritten, so the object is lost.
        if ((failed !== undefined && failed.etag === found.etag) || attempt >= rereads)
          throw corruptThread(at, error);
        failed = { etag: found.etag };
      }
    }
  }

  /** The current head with the entries that it holds, or the whole view if it is cached. @throws StratigraphError "CORRUPT" */
  async head(threadId: string): Promise<HeadView> {
    const cached = this.#views.get(threadId);
    const key = headKey(threadId);
    const found = await this.#store.get(key, { unless: cached?.etag });
    if (found === "unchanged" && cached !== undefined) return { ...cached, whole: true };
    if (found === undefined || found === "unchanged") {
      const empty = viewOf(emptyHead(threadId), undefined, []);
      // Cache the empty view, so that a following write doesn't read again: its condition is that there is no head.
      this.#views.set(threadId, empty);
      return { ...empty, whole: true };
    }
    try {
      const { head, tail } = await decodeHead(found.bytes);
      if (head.threadId !== threadId)
        throw new RangeError(`it belongs to thread ${JSON.stringify(head.threadId)}`);
      return { ...viewOf(head, found.etag, [tail]), whole: false };
    } catch (error) {
      throw corruptThread({ threadId }, new DamagedObject(key, error));
    }
  }

  /** Reads the bytes of entries of a view, in the order of `placesOf`. @throws MissingObject, DamagedObject */
  async bytes(view: ThreadView, entries: Entries): Promise<Uint8Array[]> {
    return await this.#reader.bytes(view.head.threadId, view.head.packs, placesOf(entries));
  }

  /**
   * Changes a thread by compare-and-set of its head, and tries again if another writer was first.
   * @param decide makes the change, or throws to refuse it. It may be called several times. If it refuses on a cached view, the head is
   * read and `decide` is called again.
   * @throws StratigraphError "OVERLOADED", "CORRUPT"
   */
  async change<T>(
    threadId: string,
    decide: (view: ThreadView) => Change<T>,
    { headOnly }: ChangeOptions = { headOnly: false },
  ): Promise<T> {
    return await this.#mutex.run(threadId, async () => {
      const deadline = Date.now() + contendMs;
      const cached = this.#views.get(threadId);
      if (cached !== undefined && !headOnly) {
        const done = await this.#attempt(cached, decide).catch((error: unknown) => {
          if (isDecision(error) || error instanceof MissingObject) return undefined;
          throw error instanceof DamagedObject ? corruptThread({ threadId }, error) : error;
        });
        if (done?.changed === true) return done.result;
      }
      for (let attempt = 1; attempt === 1 || Date.now() < deadline; attempt += 1) {
        const done = headOnly
          ? await this.#attempt(await this.head(threadId), decide)
          : await this.read({ threadId }, (view) => this.#attempt(view, decide));
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

  /**
   * Finishes a deletion by deleting the packs that the thread's head doesn't name.
   * @param headless those that were there before the deletion, if there was no head: it was lost, or an import died before it wrote one
   */
  async discardPacks(threadId: string, headless?: readonly string[]): Promise<void> {
    if (headless !== undefined) return await this.#store.delete(headless);
    const { head } = await this.head(threadId);
    const packs = await this.packsOf(threadId);
    const named = new Set(head.packs.map(({ key }) => key));
    // A pack is written for one revision. Once the head has reached that revision, no writer can make it name the pack any more.
    await this.#store.delete(packs.filter((key) => !named.has(key) && revisionOf(key) <= head.revision));
  }

  /** Whether there are packs of a thread that has no head. */
  async hasLostHead(threadId: string): Promise<boolean> {
    return await hasLostHead(this.#store, threadId, Date.now());
  }

  /** @throws MissingObject, DamagedObject */
  async #view({ whole, ...view }: HeadView): Promise<ThreadView> {
    if (whole) return view;
    const { threadId, packs } = view.head;
    const catalogs = await Promise.all(packs.map((ref) => this.#reader.catalog(ref, threadId)));
    const full = viewOf(view.head, view.etag, [
      ...catalogs.map(({ entries }) => entries),
      entriesWhere(view, () => true),
    ]);
    const cached = this.#views.get(threadId);
    if (cached === undefined || cached.head.revision <= full.head.revision) this.#views.set(threadId, full);
    return full;
  }

  /** Tries a change once. Undefined means that another writer was first and nothing was changed. */
  async #attempt<T>(
    view: ThreadView,
    decide: (view: ThreadView) => Change<T>,
  ): Promise<{ changed: boolean; result: T } | undefined> {
    const { next, result, rewrite, begins = false, skipCache = false } = decide(view);
    if (next === undefined) return { changed: false, result };
    if (begins && view.etag === undefined && (await this.hasLostHead(view.head.threadId)))
      throw headlessError({ threadId: view.head.threadId, namespace: "" });
    const writer = randomBytes(6).toString("hex");
    const { threadId } = view.head;
    const { merged, uploaded } = await this.#merge(next, writer, { rewrite, skipCache });
    const head: Head = {
      ...merged.head,
      writers: [writer, ...merged.head.writers].slice(0, rememberedWriters),
    };
    const tail = entriesWhere(merged, (place) => place instanceof Uint8Array);
    const bytes = await encodeHead(head, tail, placesOf(tail) as Uint8Array[]);
    const condition = view.etag === undefined ? { ifNoneMatch: "*" as const } : { ifMatch: view.etag };
    const etag = await this.#store.put(headKey(threadId), bytes, condition);
    if (etag !== undefined && !skipCache) this.#views.set(threadId, { ...merged, head, etag });
    else this.#views.delete(threadId);
    // A refusal may also mean that this put was stored and its answer lost. Then the head names this writer.
    if (etag === undefined && !(await this.head(threadId)).head.writers.includes(writer)) {
      if (uploaded !== undefined) await this.#discard([uploaded]);
      return undefined;
    }
    const named = new Set(head.packs.map(({ key }) => key));
    await this.#discard(view.head.packs.filter(({ key }) => !named.has(key)));
    return { changed: true, result };
  }

  /** Moves entries from the head into a new pack, together with those of packs that are due to be merged. */
  async #merge(
    view: ThreadView,
    writer: string,
    { rewrite, skipCache }: Pick<Change<unknown>, "rewrite" | "skipCache">,
  ): Promise<{ merged: ThreadView; uploaded: PackRef | undefined }> {
    const tailBytes = bytesIn(entriesWhere(view, (place) => place instanceof Uint8Array));
    const due = packsToMerge(view.head.packs, tailBytes, rewrite);
    if (due === undefined) return { merged: view, uploaded: undefined };
    const goes = new Set(due.map(({ key }) => key));
    const kept = view.head.packs.filter(({ key }) => !goes.has(key));
    const entries = entriesWhere(view, (place) => place instanceof Uint8Array || goes.has(place.pack));
    const bytes = await this.bytes(view, entries);
    const size = bytes.reduce((sum, each) => sum + each.length, 0);
    if (size <= tailLimitBytes) {
      const head = { ...view.head, packs: kept };
      return {
        merged: { ...withPlaces(view, entries, inMemory(entries, bytes)), head },
        uploaded: undefined,
      };
    }
    const { threadId, revision } = view.head;
    const keyOf = (hash: string): string => packKey(threadId, revision, hash, writer);
    const large = kept.length === 0 || rewrite !== undefined;
    const { ref, content, catalog } = await encodePack(threadId, entries, bytes, keyOf, large);
    await this.#store.put(ref.key, content);
    if (skipCache !== true) this.#reader.cache(ref, catalog, content);
    const head = { ...view.head, packs: [...kept, ref] };
    return { merged: { ...withPlaces(view, entries, catalog.entries), head }, uploaded: ref };
  }

  /** Deletes packs that no head names. If this fails, a sweep deletes them later. */
  async #discard(packs: readonly PackRef[]): Promise<void> {
    await this.#store.delete(packs.map(({ key }) => key)).catch(() => undefined);
  }

  async packsOf(threadId: string): Promise<string[]> {
    const keys: string[] = [];
    for await (const { key } of this.#store.list(packPrefix(threadId)))
      if (key.endsWith(".pack")) keys.push(key);
    return keys;
  }
}

/** Whether an error was thrown by `decide`, rather than by the storage. */
function isDecision(error: unknown): boolean {
  return ["CHECKPOINT_CONFLICT", "THREAD_DELETED", "STALE_READ"].some((code) =>
    StratigraphError.is(error, code as "STALE_READ"),
  );
}
