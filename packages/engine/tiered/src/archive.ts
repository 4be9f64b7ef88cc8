// long file: what the archive adds to each method of a stack, best read together
import { randomUUID } from "node:crypto";
import { CorruptionError, EvictedError, StratigraphError, type Tier } from "@stratigraph/core";
import {
  headlessError,
  isArchiveSource,
  isRootedMark,
  keepsLeases,
  looksOnly,
  markedCopy,
  markOf,
  remembering,
  trace,
} from "@stratigraph/core/internal";
import {
  addressKey,
  blobClosure,
  missingBlob,
  namedBlobs,
  type Address,
  type BlobHash,
  type BlobInfo,
  type CheckpointRecord,
  type ListedCheckpoint,
  type ListQuery,
  type MaybeAddress,
  type MovedThread,
  type Peek,
  type Reading,
  type RemoveRequest,
  type StoredCheckpoint,
  type ThreadState,
} from "@stratigraph/core/tier";
import { ancestorsOf, withAncestors } from "./coldAncestors.ts";
import { archivedMark } from "./archivedMark.ts";
import { type Copy, deleteCopy, evictedFrom, isOvertaken, lifeOf, refuseForeign, whoseCopy } from "./life.ts";
import type { BreakerSettings, BreakerState } from "./breaker.ts";
import { lookedThrough } from "./dueDeletions.ts";
import { listByThread } from "./listByThread.ts";
import { ColdTier } from "./coldTier.ts";
import { mergeListed } from "./mergeListed.ts";
import type { RestoreOn } from "./options.ts";
import type { WarmTier } from "./warmTier.ts";

/** How many threads with checkpoints that were read from the archive, but not restored, are remembered. */
const rememberedThreads = 10_000;
/** How many times a restore is tried. An attempt fails if the thread was written to since its revision was read. */
const attempts = 8;

/** The life of a copy that a deletion is about to remove. */
const deletedLife = "deleted";

/** What the archive may have of a thread that is being deleted. */
export interface DeletedArchive {
  /** Whether the archive must be asked. */
  readonly mayHold: boolean;
  /** Whether an archiver has announced itself. */
  readonly isAnnounced: boolean;
  /** Whether the thread is marked as archived. If so, the archive refuses a late archiver once the copy is deleted. */
  readonly isCopied: boolean;
  /** The thread's life in the warm tier. */
  readonly life?: string | undefined;
  /** What the archive has. */
  readonly copy?: Copy | undefined;
  /** Why the archive couldn't be asked whose thread it has. */
  readonly away?: unknown;
}

/** The state of a thread before its deletion, as the warm tier reports it. */
export interface BeforeDeletion extends DeletedArchive {
  readonly revision: number;
}

/**
 * A stack's access to its cold tier. The cold tier is asked only about threads that the archiver has marked in the warm tier. So threads
 * that were never archived cost no request, and an archive that is down doesn't affect them.
 */
export class Archive {
  readonly tier: Tier;
  readonly #cold: ColdTier;
  readonly #warm: WarmTier;
  /** By thread, the checkpoints that were read from the archive and not restored to the warm tier. */
  readonly #served = remembering<Map<string, Address>>(rememberedThreads);
  /** By thread, the life of the warm tier that the archive was seen to have. A thread that is deleted and begins anew has another one. */
  readonly #own = remembering<string>(rememberedThreads);

  constructor(cold: Tier, warm: WarmTier, breaker: BreakerSettings, now: () => number) {
    this.tier = cold;
    this.#cold = new ColdTier(cold, breaker, now);
    this.#warm = warm;
  }

  get breaker(): BreakerState {
    return this.#cold.breaker;
  }

  /**
   * Reads a checkpoint that the warm tier doesn't have, with one request to the archive.
   * @param state the warm tier's answer
   * @throws StratigraphError "ARCHIVE_UNAVAILABLE"
   */
  async read(at: MaybeAddress, state: Reading, restoreOn: RestoreOn): Promise<Reading> {
    const checkpointId = at.checkpointId ?? state.head!;
    const address: Address = { ...at, checkpointId };
    if (checkpointId !== state.head && !(await this.holdsMore(at.threadId))) return state;
    const later = await this.#laterWrites(address);
    const checkpoint = await this.#taken(address, state.head);
    if (checkpoint === undefined) {
      if (checkpointId !== state.head) await this.#refuseLost(address);
      return state;
    }
    if (restoreOn === "read" && (await this.#restore(checkpoint, state, state.revision)) === "restored") {
      const restored = await this.#warm.read(at);
      if (restored.checkpoint !== undefined) return restored;
    }
    this.#serve(address);
    return { ...state, checkpoint: await this.#withLaterWrites(checkpoint, later(checkpoint)) };
  }

  /** @throws StratigraphError "CORRUPT" if a thread that has lost its root's head is archived */
  async refuseHeadless(threadId: string): Promise<void> {
    if (await this.holdsMore(threadId)) throw headlessError({ threadId, namespace: "" });
  }

  /** Whether checkpoints of the thread were read from the archive and not restored to the warm tier. */
  servedUnrestored(threadId: string): boolean {
    return this.#served.has(threadId);
  }

  /** The first of some checkpoints that was read from the archive, and isn't in the warm tier yet. */
  async archivedAmong(checkpoints: readonly Address[]): Promise<Address | undefined> {
    for (const at of checkpoints) {
      const served = this.#served.get(at.threadId);
      const key = addressKey(at, at.checkpointId);
      if (served?.has(key) !== true) continue;
      if ((await this.#warm.read(at)).checkpoint === undefined) return pick(at);
      // Somebody restored it.
      served.delete(key);
    }
    return undefined;
  }

  /**
   * Restores to the warm tier those checkpoints of a thread that were read from the archive.
   * @throws StratigraphError "ARCHIVE_UNAVAILABLE"
   */
  async restoreServed(threadId: string): Promise<void> {
    // Where the mark is gone, the thread was deleted since.
    const { head: mark, revision } = await this.#mark(threadId);
    const served = mark === undefined ? undefined : this.#served.get(threadId)?.values();
    for (const address of served ?? []) {
      const { checkpoint: inWarm, head } = await this.#warm.read(address);
      if (inWarm !== undefined) continue;
      const checkpoint = await this.#taken(address, head);
      if (checkpoint !== undefined) await this.#restoreWhole(checkpoint, revision);
    }
    this.#served.delete(threadId);
  }

  /** Lists the checkpoints of the warm and the cold tier together: thread by thread, newest first. */
  async *list(query: ListQuery): AsyncGenerator<ListedCheckpoint> {
    let left = query.limit ?? Number.POSITIVE_INFINITY;
    const { threadId } = query;
    const listing = threadId === undefined ? this.#listAll(query) : this.#listThread({ ...query, threadId });
    for await (const listed of listing) {
      yield listed;
      left -= 1;
      if (left <= 0) return;
    }
  }

  async *#listThread(query: ListQuery & { readonly threadId: string }): AsyncGenerator<ListedCheckpoint> {
    const begun = await this.#mark(query.threadId);
    const { threadId, namespace = "", checkpointId, before, terms = [], runIds, lost } = query;
    const isWhole = checkpointId === undefined;
    // Such a list may leave out a checkpoint that is there.
    const isFiltered = before !== undefined || terms.length > 0 || runIds !== undefined || lost === true;
    // A caller that lists only records corrects heads, and has to see what is left.
    if (isWhole && query.recordsOnly !== true && begun.head !== undefined)
      await this.#refuseLost({ threadId, namespace });
    let isFound = false;
    for await (const listed of this.#both(this.#warm.list(query), query, begun)) {
      isFound = true;
      yield listed;
    }
    if (!isWhole && !isFiltered && !isFound && begun.head !== undefined)
      await this.#refuseLost({ threadId, namespace, checkpointId });
  }

  /**
   * Reads a checkpoint of the archive, unless it is of another life.
   * @param head the warm tier's head of the namespace. If the archive has it, too, nothing has to be compared
   * @throws EvictedError
   */
  async #taken(at: Address, head: string | undefined): Promise<StoredCheckpoint | undefined> {
    const { checkpoint, head: archived } = await this.#cold.run(at.threadId, (cold) => cold.read(at));
    const isShared = head !== undefined && (head === at.checkpointId || head === archived);
    if (checkpoint !== undefined && !isShared) await this.#refuseOther(at.threadId);
    return checkpoint;
  }

  /**
   * Throws if a thread is archived, and what this archive has under its id is of another life: it is the archive of another database. Called
   * for whatever is taken from the archive, listed of it or removed there.
   * @returns whether what it has is the thread's own; if not, the thread isn't archived
   * @throws EvictedError
   */
  async #refuseOther(threadId: string): Promise<boolean> {
    if (await this.#isOwn(threadId)) return true;
    if (!(await this.holdsMore(threadId))) return false;
    throw await evictedFrom(this.#warm.primary, this.tier, threadId);
  }

  /** Whether what the archive has of a thread is of the life that the warm tier has. Asks the archive once for each life that it has. */
  async #isOwn(threadId: string): Promise<boolean> {
    for (;;) {
      const { head: life, revision } = await this.#warm.peek({ threadId, namespace: lifeOf });
      // Threads that older versions archived have no life.
      const key = life ?? (await this.#mark(threadId)).head;
      if (key === undefined || this.#own.get(threadId) === key) return true;
      const { whose } = await this.#cold.run(threadId, (cold) =>
        whoseCopy(this.#warm.primary, cold, threadId, life),
      );
      if (whose === "own") this.#own.set(threadId, key);
      if (whose !== "other") return true;
      // It may have been deleted meanwhile, and archived again.
      const now = await this.#warm.peek({ threadId, namespace: lifeOf });
      if (now.head === life || now.revision === revision) return false;
    }
  }

  /**
   * Throws if the archive lacks what the warm tier dropped as archived. It is then the archive of another database, or was restored from an
   * older backup, and its answer would be a shorter history.
   * @param at a checkpoint that neither tier has, or a namespace
   * @throws EvictedError; StratigraphError "CORRUPT" if the root's head is lost: nothing tells then what the archive must have
   */
  async #refuseLost({ threadId, namespace, checkpointId }: MaybeAddress): Promise<void> {
    const archived = await this.#cold.run(threadId, (cold) => cold.peek({ threadId, namespace }));
    // Ask the warm tier afterwards, because a deletion begins there.
    const { head, headless } = await this.#warm.peek({ threadId, namespace });
    if (headless === true) throw headlessError({ threadId, namespace });
    if (head === undefined) return;
    const mark = await this.#mark(threadId);
    if (mark.head === undefined) return;
    if (head !== archived.head) await this.#refuseOther(threadId);
    const at = { threadId, namespace, checkpointId: head };
    const isSetBack = archived.revision < markedCopy(mark.head) && (await this.#isSetBack(threadId));
    if (archived.revision > 0 && head !== checkpointId && !isSetBack) {
      if (head === archived.head || (await this.#warmRecord(at)) !== undefined) return;
      if ((await this.#cold.run(threadId, (cold) => cold.read(at))).checkpoint !== undefined) return;
    }
    throw new EvictedError(this.tier.name, at, this.#warm.primary.name);
  }

  /** Whether the archive has an older copy than the one that was marked. */
  async #isSetBack(threadId: string): Promise<boolean> {
    const mark = await this.#mark(threadId);
    const { head: life } = await this.#warm.peek({ threadId, namespace: lifeOf });
    const copy = await this.#cold.run(threadId, (cold) => cold.peek({ threadId, namespace: lifeOf }));
    return life !== undefined && copy.head === life && copy.revision < markedCopy(mark.head);
  }

  /**
   * Merges the warm tier's listing of a thread with the archive's. The warm tier is listed by pages, and the thread may be archived between
   * two of them. An archiver lets the warm tier drop only what it has found in the archive. So whatever is missing from the warm listing is
   * in a listing of the archive that begins after the warm one has ended.
   * @param begun the thread's mark, read before the archive is listed
   */
  #both(
    warm: AsyncIterable<ListedCheckpoint>,
    query: ListQuery & { readonly threadId: string },
    begun: ThreadState,
  ): AsyncGenerator<ListedCheckpoint> {
    const anew = async (): Promise<AsyncIterable<ListedCheckpoint> | undefined> => {
      const { head, revision } = await this.#mark(query.threadId);
      return head === undefined || revision === begun.revision
        ? undefined
        : this.#listCold({ ...query, limit: undefined });
    };
    return mergeListed(warm, begun.head === undefined ? undefined : this.#listCold(query), anew);
  }

  /**
   * First lists the threads of which the warm tier has checkpoints, then those that only the archive has. It remembers the id of each
   * thread that is in both. A thread that is archived meanwhile may be listed twice, but none is left out.
   */
  async *#listAll(query: ListQuery): AsyncGenerator<ListedCheckpoint> {
    const inBoth = new Set<string>();
    for await (const { threadId, listing } of listByThread(this.#warm.list(query))) {
      const begun = await this.#mark(threadId);
      if (begun.head !== undefined) inBoth.add(threadId);
      yield* this.#both(listing, { ...query, threadId }, begun);
    }
    for await (const listed of this.#listCold(query)) if (!inBoth.has(listed.record.threadId)) yield listed;
  }

  /** The blobs that a thread has in the two tiers together. @param warm those of the warm tier */
  async blobs(threadId: string, warm: readonly BlobInfo[]): Promise<readonly BlobInfo[]> {
    if (!(await this.holdsMore(threadId))) return warm;
    // If a head is lost, a prune would remove everything left that only this head leads to.
    await this.#refuseLost({ threadId, namespace: "" });
    const cold = await this.#cold.run(threadId, (tier) => tier.blobs(threadId));
    return [...new Map([...cold, ...warm].map((info) => [info.hash, info])).values()];
  }

  /**
   * Removes checkpoints from the archive, before they are removed from the warm tier. False if the thread has changed since `request`
   * was made.
   * @throws StratigraphError "ARCHIVE_UNAVAILABLE"
   */
  async remove(request: RemoveRequest): Promise<boolean> {
    const { threadId } = request;
    if (!(await this.#mayHaveCopy(threadId))) return true;
    if (!(await this.#refuseOther(threadId))) return true;
    const { revision } = await this.#warm.peek({ threadId, namespace: "" });
    if (revision !== request.revision) return false;
    return await this.#cold.run(threadId, async (cold) => {
      const archived = await cold.peek({ threadId, namespace: "" });
      if (archived.revision === 0) return true;
      return await cold.remove({ ...request, revision: archived.revision });
    });
  }

  /**
   * Deletes a thread's archive, after the thread was deleted from the warm tier. If the archive can't be reached, maintenance does it
   * later. It finds the warm tier's tombstone or, if the thread has begun anew, the life that the warm tier no longer names.
   */
  async deleteThread(
    threadId: string,
    { isAnnounced, isCopied, away, life, copy }: DeletedArchive,
  ): Promise<void> {
    this.#served.delete(threadId);
    if (away !== undefined) return await this.#owe(threadId, away);
    const lives = [undefined, life, copy?.life, deletedLife];
    try {
      const isDone = await this.#cold.run(threadId, async (cold) => {
        let failedAt: number | undefined;
        for (let attempt = 1; attempt <= attempts; attempt += 1) {
          const { head, revision } =
            copy !== undefined && attempt === 1
              ? { head: copy.life, revision: copy.revision }
              : await cold.peek({ threadId, namespace: lifeOf });
          // This process may have been suspended, and the thread begun anew and archived since. Maintenance tells the lives apart.
          if (!lives.includes(head)) return false;
          // An archiver that has announced itself may still bring its copy. The archive refuses the copy only if the thread was deleted there
          // since, so append something that can be deleted.
          if (isAnnounced && !isCopied && head !== deletedLife) await raiseFence(cold, threadId, head);
          // A refusal at the revision that it has means that there is nothing to delete.
          else if (revision === failedAt || (await deleteCopy(cold, threadId, revision))) return true;
          else failedAt = revision;
        }
        return false;
      });
      if (!isDone) await this.#owe(threadId);
    } catch (error) {
      if (!StratigraphError.is(error, "ARCHIVE_UNAVAILABLE")) throw error;
      await this.#owe(threadId, error);
    }
  }

  /**
   * Whether the warm tier has a deleted life again, because it was restored to an older state while the archive was being deleted. Makes
   * one small query, or none if the thread wasn't archived.
   */
  async isBack(threadId: string, { isCopied, life }: DeletedArchive): Promise<boolean> {
    return (
      isCopied && life !== undefined && (await this.#warm.peek({ threadId, namespace: lifeOf })).head === life
    );
  }

  /** Makes the next maintenance of any process search the whole archive for deleted threads. */
  async #owe(threadId: string, error?: unknown): Promise<void> {
    trace({ type: "maintenance", what: "deletion owed", threadId, data: { error } });
    const warm = this.#warm.primary;
    // If this fails too, the deletion is found a day later.
    if (keepsLeases(warm)) await warm.lease(lookedThrough, lookedThrough, 0).catch(() => undefined);
  }

  /** Continues a walk to ancestors (`found`) where the warm tier's part of it ends. */
  async ancestry(
    at: Address,
    found: readonly StoredCheckpoint[],
    seedTerms: readonly number[],
    limit: number,
  ): Promise<readonly StoredCheckpoint[]> {
    const open = new Set(seedTerms);
    for (const { record } of found) for (const term of record.terms) open.delete(term);
    if (open.size === 0 || found.length >= limit || !(await this.holdsMore(at.threadId))) return found;
    const last = found.at(-1)?.record ?? (await this.#warmRecord(at));
    if (last !== undefined && last.parentId === undefined) return found;
    const later = await this.#laterWrites({ threadId: at.threadId });
    const rest = await this.#cold.run(at.threadId, async (cold) =>
      last === undefined
        ? await ancestorsOf(cold, at, open, limit)
        : await withAncestors(
            cold,
            { ...pick(last), checkpointId: last.parentId! },
            open,
            limit - found.length,
          ),
    );
    // What follows on the warm tier's part, or on its head, is of the same life.
    const goesOn =
      last !== undefined ||
      (await this.#warm.peek({ ...at, checkpointId: undefined })).head === at.checkpointId;
    if (rest.length === 0 || !goesOn) await this.#refuseOther(at.threadId);
    return [
      ...found,
      ...(await Promise.all(rest.map((stored) => this.#withLaterWrites(stored, later(stored))))),
    ];
  }

  /** Whether a thread is marked as archived, so that the archive may have more of it. Makes one small query to the warm tier. */
  async holdsMore(threadId: string): Promise<boolean> {
    return (await this.#mark(threadId)).head !== undefined;
  }

  /** The thread's mark, if it is archived, and its revision. Makes one small query to the warm tier. */
  async #mark(threadId: string): Promise<ThreadState> {
    return await this.#warm.peek({ threadId, namespace: archivedMark });
  }

  /** Whether the archive may have anything of a thread's life, even an incomplete copy. */
  async #mayHaveCopy(threadId: string): Promise<boolean> {
    return (
      (await this.holdsMore(threadId)) ||
      (await this.#warm.peek({ threadId, namespace: lifeOf })).head !== undefined
    );
  }

  /**
   * What a deletion must know of a thread before it deletes it.
   * @throws StratigraphError "CORRUPT" if the archive has another thread under its id, which a deletion mustn't delete
   */
  async beforeDeletion(threadId: string): Promise<BeforeDeletion> {
    const [mark, life, root] = await Promise.all(
      [archivedMark, lifeOf, ""].map((namespace) => this.#warm.peek({ threadId, namespace })),
    );
    const isCopied = mark!.head !== undefined;
    const mayHold = isCopied || life!.head !== undefined || isDeleted(root!);
    return {
      ...(mayHold ? await this.#refuseForeign(threadId, { life: life!.head, isArchived: isCopied }) : {}),
      revision: Math.min(mark!.revision, life!.revision, root!.revision),
      isCopied,
      life: life!.head,
      mayHold,
      isAnnounced: life!.head !== undefined,
    };
  }

  /** @returns what the archive has, or the error of an archive that can't be asked now */
  async #refuseForeign(
    threadId: string,
    now: Parameters<typeof refuseForeign>[3],
  ): Promise<Pick<DeletedArchive, "copy" | "away">> {
    const warm = this.#warm.primary;
    try {
      return { copy: await this.#cold.run(threadId, (cold) => refuseForeign(warm, cold, threadId, now)) };
    } catch (error) {
      if (!StratigraphError.is(error, "ARCHIVE_UNAVAILABLE")) throw error;
      return { away: error };
    }
  }

  /**
   * Archived checkpoints of threads that still have a head in the warm tier, with that head. Who lists only records corrects heads, or refuses
   * a thread that lost its own.
   * @throws StratigraphError "CORRUPT" if a thread's head is lost
   */
  async *#listCold(query: ListQuery): AsyncGenerator<ListedCheckpoint> {
    const { threadId: asked } = query;
    const ofQuery = asked === undefined ? undefined : await this.#laterWrites({ ...query, threadId: asked });
    const listing = this.#cold.iterate(query.threadId, (cold) => cold.list(query));
    for await (const { threadId, listing: ofThread } of listByThread(listing)) {
      const peeks = new Map<string, Promise<Peek>>();
      const peek = async (namespace: string): Promise<Peek> => {
        const peeked = peeks.get(namespace) ?? this.#warm.peek({ threadId, namespace });
        peeks.set(namespace, peeked);
        return await peeked;
      };
      // Without the mark, nobody relies on the archive's copy: it is incomplete, or of a deleted life.
      if ((await peek(archivedMark)).head === undefined) continue;
      const later = ofQuery ?? (await this.#laterWrites({ threadId }));
      let isOwn = false;
      for await (const listed of ofThread) {
        const { head } = await peek(listed.record.namespace);
        const root = head === undefined ? await peek("") : undefined;
        if (root !== undefined && root.head === undefined) {
          // Only a thread that is deleted has no root any more. One whose head is lost is all there.
          if (root.headless !== true) continue;
          if (query.recordsOnly !== true) throw headlessError({ threadId, namespace: "" });
        }
        // A head that both tiers have is of the same life.
        if (!isOwn && (head === undefined || head !== listed.head)) await this.#refuseOther(threadId);
        isOwn = true;
        yield { ...(await this.#withLaterWrites(listed, later(listed))), head };
      }
    }
  }

  /**
   * The pending writes that the warm tier received for a thread's checkpoints after these were archived. Call this before reading the
   * archive: an archiver removes the writes from the warm tier only once they are in the archive, so that in this order they are found in
   * one of the two.
   */
  async #laterWrites({
    threadId,
    namespace = "",
    checkpointId,
  }: Pick<ListQuery, "namespace" | "checkpointId"> & { readonly threadId: string }) {
    const one = checkpointId === undefined ? undefined : [{ threadId, namespace, checkpointId }];
    const found = new Map<string, LaterWrites>();
    for (const at of one ?? (await this.#strays(threadId)))
      found.set(addressKey(at, at.checkpointId), await this.#warm.peek(at));
    return ({ record }: StoredCheckpoint) => found.get(addressKey(record, record.checkpointId));
  }

  /** Adds to an archived checkpoint the pending writes that came after it was archived. */
  async #withLaterWrites<T extends StoredCheckpoint>(
    stored: T,
    { writes, revision }: LaterWrites = { writes: [], revision: 0 },
  ): Promise<T> {
    if (writes.length === 0) return stored;
    // Some may be in both tiers, if an archiver copied them to the archive between the two reads. Readers count each batch once.
    if (blobClosure(namedBlobs(undefined, writes), stored.blobs) !== undefined)
      return { ...stored, writes: [...stored.writes, ...writes] };
    // The writes name blobs that only the warm tier has. It returns blobs only together with their checkpoint, so restore that first.
    if (looksOnly()) throw new EvictedError(this.#warm.primary.name, pick(stored.record));
    const restored = await this.#restoreWhole(stored, revision);
    return { ...stored, ...restored };
  }

  /**
   * Restores archived checkpoints that have received pending writes since they were archived. The archiver copies what the warm tier lists,
   * and the warm tier lists pending writes only with their checkpoint.
   */
  async restoreWritten(threadId: string): Promise<void> {
    const { head: mark, revision } = await this.#mark(threadId);
    if (mark === undefined) return;
    for (const at of await this.#strays(threadId)) {
      const checkpoint = await this.#taken(at, (await this.#warm.peek(at)).head);
      if (checkpoint !== undefined) await this.#restoreWhole(checkpoint, revision);
    }
  }

  /**
   * Restores every archived checkpoint of a thread.
   * @returns how much was copied; undefined if the archive has nothing of the thread
   * @throws StratigraphError "ARCHIVE_UNAVAILABLE", "OVERLOADED"; EvictedError if the archive lacks what the warm tier dropped
   */
  async restoreThread(threadId: string): Promise<MovedThread | undefined> {
    const { head: mark, revision } = await this.#mark(threadId);
    if (mark === undefined) return undefined;
    await this.#refuseLost({ threadId, namespace: "" });
    let [checkpoints, bytes] = [0, 0];
    const counted = new Set<BlobHash>();
    for await (const stored of this.#listCold({ threadId })) {
      const { record, writes, blobs, head } = stored;
      // Without a head, nothing leads to the checkpoint any more.
      if (head === undefined || (await this.#warmRecord(record)) !== undefined) continue;
      if ((await this.#restoreWhole(stored, revision)) === undefined) continue;
      checkpoints += 1;
      bytes += writes.reduce((sum, { body }) => sum + body.length, record.body.length);
      for (const [hash, blob] of blobClosure(namedBlobs(record, writes), blobs) ?? []) {
        if (counted.has(hash)) continue;
        counted.add(hash);
        bytes += blob.bytes.length;
      }
    }
    this.#served.delete(threadId);
    return { done: true, checkpoints, bytes };
  }

  /** Archived checkpoints for which the warm tier has pending writes but no record. */
  async #strays(threadId: string): Promise<readonly Address[]> {
    const { primary } = this.#warm;
    if (isArchiveSource(primary)) return await primary.strays(threadId);
    const strays: Address[] = [];
    for await (const { record } of this.#cold.iterate(threadId, (cold) =>
      cold.list({ threadId, recordsOnly: true }),
    )) {
      const { writes } = await this.#warm.peek(record);
      if (writes.length > 0 && (await this.#warmRecord(record)) === undefined) strays.push(pick(record));
    }
    return strays;
  }

  async #warmRecord(at: Address): Promise<CheckpointRecord | undefined> {
    for await (const { record } of this.#warm.list({ ...pick(at), recordsOnly: true, limit: 1 }))
      return record;
    return undefined;
  }

  /**
   * Restores a checkpoint, and tries again if the thread is written to meanwhile.
   * @param seen the thread's revision before the archive was read, when it was archived
   * @returns undefined if the thread was deleted since; perhaps it has begun anew
   * @throws StratigraphError "OVERLOADED"; CorruptionError if the archive doesn't have all of it
   */
  async #restoreWhole(stored: StoredCheckpoint, seen: number): Promise<StoredCheckpoint | undefined> {
    const at = pick(stored.record);
    const missing = missingBlob(namedBlobs(stored.record, stored.writes), stored.blobs);
    for (let attempt = 0; attempt < attempts; attempt += 1) {
      const state = await this.#warm.read(at);
      if (state.checkpoint !== undefined) return state.checkpoint;
      if (state.head === undefined) return undefined;
      if (missing !== undefined)
        throw new CorruptionError(at, `blob ${missing} is missing in its archive (tier ${this.tier.name})`);
      if ((await this.#restore(stored, state, seen)) === "deleted") return undefined;
    }
    throw new StratigraphError(
      "OVERLOADED",
      `Thread ${JSON.stringify(at.threadId)} changed during each of ${attempts} attempts to restore it from the archive. Repeat the call.`,
      { ...at },
    );
  }

  /**
   * Copies an archived checkpoint back to the warm tier.
   * @param seen the thread's revision before the archive was read. What was deleted since doesn't come back
   * @returns undefined if somebody changed the thread meanwhile
   */
  async #restore(
    stored: StoredCheckpoint,
    state: Reading,
    seen: number,
  ): Promise<"restored" | "deleted" | undefined> {
    const { record, writes } = stored;
    const { threadId, namespace, checkpointId } = record;
    const blobs = blobClosure(namedBlobs(record, writes), stored.blobs);
    if (blobs === undefined || state.head === undefined) return undefined;
    // Read the mark, and replace it below: otherwise two readers that restore at the same time would add the same pending writes twice,
    // perhaps after newer ones.
    const mark = await this.#mark(threadId);
    const now = await this.#warm.peek({ threadId, namespace, checkpointId });
    if (now.revision !== state.revision) return undefined;
    // If there are writes to restore, append the newer ones once more: they must come after the restored ones, which they may replace.
    const inOrder = writes.length === 0 ? [] : [...writes, ...now.writes];
    try {
      await this.#warm.primary.append({
        threadId,
        records: [record],
        blobs: [...blobs.values()],
        writes: inOrder.map((batch) => ({ threadId, namespace, checkpointId, ...batch })),
        heads: [
          { namespace, to: state.head, expected: [state.head] },
          // Each restore gives the mark a value of its own, so that of two simultaneous restores one is refused.
          {
            namespace: archivedMark,
            to: markOf(`restored by ${randomUUID()}`, markedCopy(mark.head), isRootedMark(mark.head)),
            expected: mark.head === undefined ? [] : [mark.head],
          },
        ],
        onConflict: "refuse",
        seen,
      });
    } catch (error) {
      if (!isOvertaken(error)) throw error;
      return StratigraphError.is(error, "THREAD_DELETED") ? "deleted" : undefined;
    }
    trace({ type: "maintenance", what: "restored", threadId, data: { namespace, checkpointId } });
    return "restored";
  }

  #serve(at: Address): void {
    const served = this.#served.get(at.threadId) ?? new Map<string, Address>();
    served.set(addressKey(at, at.checkpointId), at);
    this.#served.set(at.threadId, served);
  }
}

/** Pending writes that came to a checkpoint after it was archived, and the thread's revision then. */
type LaterWrites = Pick<Peek, "writes" | "revision">;

/** Whether a thread is deleted already, perhaps while the archive couldn't be reached. */
function isDeleted({ revision, head }: ThreadState): boolean {
  return revision > 0 && head === undefined;
}

/** Appends what makes sure that a deletion leaves a tombstone, which refuses whatever was read before. */
async function raiseFence(cold: Tier, threadId: string, head: string | undefined): Promise<void> {
  const heads = [{ namespace: lifeOf, to: deletedLife, expected: head === undefined ? [] : [head] }];
  try {
    await cold.append({ threadId, records: [], blobs: [], heads, onConflict: "refuse" });
  } catch (error) {
    if (!isOvertaken(error)) throw error;
  }
}

function pick({ threadId, namespace, checkpointId }: Address): Address {
  return { threadId, namespace, checkpointId };
}
