import { StratigraphError, type ThreadInfo, type ThreadStatus } from "@stratigraph/core";
import { remembering } from "@stratigraph/core/internal";
import { tagKey, type ThreadQuery } from "@stratigraph/core/tier";
import { corruptThread } from "./corruptThread.ts";
import { decodeHead } from "./head.ts";
import { DamagedObject } from "./objectErrors.ts";
import type { ListedObject, ObjectStore } from "./objectStore.ts";
import { statusIn } from "./standing.ts";
import { headKey, threadOfPrefix } from "./threadKey.ts";

/** How many heads are read ahead when all threads are listed. */
const headsAhead = 8;
/** How many heads are remembered between listings. */
const rememberedHeads = 10_000;

/** What is remembered of a head. */
interface IndexedHead {
  /** The version of the head object in listings. */
  readonly version: string;
  /** Undefined if the thread has no checkpoint. */
  readonly info: ThreadInfo | undefined;
  readonly status?: ThreadStatus | undefined;
  /** Keys made by `tagKey`. */
  readonly tags: ReadonlySet<string>;
}

/** All threads, found by listing their heads. A head is read again only when its object has changed. */
export class HeadIndex {
  readonly #store: ObjectStore;
  readonly #indexed = remembering<IndexedHead>(rememberedHeads);

  constructor(store: ObjectStore) {
    this.#store = store;
  }

  /** Threads that have checkpoints, in the order that the query asks for. @throws StratigraphError "CORRUPT" */
  async *threads(query: ThreadQuery): AsyncGenerator<ThreadInfo> {
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
      const indexed = await Promise.all(
        heads.slice(at, at + headsAhead).map((head) => this.#headOr(head, query.onDamaged)),
      );
      for (const { info, tags, status } of indexed) {
        if (info === undefined || (query.includeEvicted === false && info.evicted)) continue;
        if (query.tags?.every((tag) => tags.has(tagKey(tag))) === false) continue;
        if (query.status !== undefined && status !== undefined && status !== query.status) continue;
        yield query.status === undefined || status === undefined ? info : { ...info, status };
        left -= 1;
        if (left <= 0) return;
      }
    }
  }

  /** Ids of threads that have checkpoints, in the order of their keys. @throws StratigraphError "CORRUPT" */
  async *threadIds(): AsyncGenerator<string> {
    for (const head of await this.#heads()) {
      const { info } = await this.#head(head);
      if (info !== undefined) yield info.threadId;
    }
  }

  /** As {@link threadIds}, at most `limit`. Skips damaged heads, and lists no more objects than needed. */
  async *firstThreadIds(limit: number): AsyncGenerator<string> {
    let left = limit;
    for await (const object of this.#store.list("")) {
      if (!object.key.endsWith("/head")) continue;
      const { info } = await this.#headOr(object, () => {});
      if (info === undefined) continue;
      yield info.threadId;
      left -= 1;
      if (left === 0) return;
    }
  }

  async #heads(): Promise<ListedObject[]> {
    const heads: ListedObject[] = [];
    for await (const object of this.#store.list("")) if (object.key.endsWith("/head")) heads.push(object);
    return heads;
  }

  /** Reads a head. If it is damaged and there is an `onDamaged`, calls that and returns a head that names no thread. */
  async #headOr(listed: ListedObject, onDamaged: ThreadQuery["onDamaged"]): Promise<IndexedHead> {
    try {
      return await this.#head(listed);
    } catch (error) {
      if (onDamaged === undefined || !StratigraphError.is(error, "CORRUPT")) throw error;
      onDamaged(error);
      return { version: listed.version, info: undefined, tags: new Set() };
    }
  }

  async #head(listed: ListedObject): Promise<IndexedHead> {
    const known = this.#indexed.get(listed.key);
    if (known !== undefined && known.version === listed.version) return known;
    const found = await this.#store.get(listed.key);
    if (found === undefined || found === "unchanged")
      return { version: listed.version, info: undefined, tags: new Set() };
    const ofPrefix = threadOfPrefix(listed.key.slice(0, listed.key.lastIndexOf("/")));
    const at = ofPrefix === undefined ? {} : { threadId: ofPrefix };
    const { head } = await decodeHead(found.bytes).catch((error: unknown) => {
      throw corruptThread(at, new DamagedObject(listed.key, error));
    });
    const { threadId, revision, evicted, heads, tags = [] } = head;
    if (headKey(threadId) !== listed.key) {
      const why = new RangeError(`it belongs to thread ${JSON.stringify(threadId)}`);
      throw corruptThread(at, new DamagedObject(listed.key, why));
    }
    const info =
      heads.size === 0
        ? undefined
        : { threadId, revision, head: heads.get(""), writtenAtMs: listed.modifiedMs, evicted };
    const status = statusIn(head);
    const indexed = { version: listed.version, info, status, tags: new Set(tags.map(tagKey)) };
    this.#indexed.set(listed.key, indexed);
    return indexed;
  }
}
