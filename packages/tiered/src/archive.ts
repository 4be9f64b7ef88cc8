// long file: what the archive adds to each method of a stack, best read together
import { randomUUID } from "node:crypto";
import { CorruptionError, EvictedError, StratigraphError, type Tier } from "@stratigraph/core";
import { isArchiveSource, keepsLeases, looksOnly, remembering, trace } from "@stratigraph/core/internal";
import {
  addressKey,
  blobClosure,
  missingBlob,
  namedBlobs,
  type Address,
  type AppendRequest,
  type BlobHash,
  type BlobInfo,
  type CheckpointRecord,
  type ListedCheckpoint,
  type ListQuery,
  type MaybeAddress,
  type MovedThread,
  type Reading,
  type RemoveRequest,
  type StoredCheckpoint,
  type StoredWriteBatch,
  type ThreadState,
} from "@stratigraph/core/tier";
import { ancestorsOf, withAncestors } from "./coldAncestors.ts";
import { archivedMark } from "./archivedMark.ts";
import { isOvertaken, lifeOf } from "./life.ts";
import type { BreakerSettings, BreakerState } from "./breaker.ts";
import { lookedThrough } from "./dueDeletions.ts";
import { listByThread } from "./listByThread.ts";
import { ColdTier } from "./coldTier.ts";
import { mergeListed } from "./mergeListed.ts";
import type { RestoreOn } from "./options.ts";
import type { WarmTier } from "./warmTier.ts";

/** For how many threads it is remembered that checkpoints were read from the archive and not restored. */
const rememberedThreads = 10_000;
/** How often a restore is tried. It fails if the thread was written to since its revision was read. */
const attempts = 8;

/** How long after a deletion began the thread is looked at again before its archive is deleted. Milliseconds. */
const latestMs = 10_000;

/** What the archive may have of a thread that is deleted. */
export interface DeletedArchive {
  /** Whether the archive must be asked. */
  readonly mayHold: boolean;
  /** Whether an archiver has announced itself. */
  readonly isAnnounced: boolean;
  /** Whether the thread is marked as archived: then deleting the copy refuses a late archiver. */
  readonly isCopied: boolean;
  /** The life of what is marked as archived. */
  readonly life?: string | undefined;
}

/** A thread before it is deleted, as the warm tier tells. */
export interface BeforeDeletion extends DeletedArchive {
  readonly revision: number;
}

/**
 * What a stack reads from the cold tier. The cold tier is asked only about threads that the archiver has marked in the warm tier. So
 * threads that were never archived cost no request, and an archive that is down doesn't affect them.
 */
export class Archive {
  readonly tier: Tier;
  readonly #cold: ColdTier;
  readonly #warm: WarmTier;
  readonly #now: () => number;
  /** By thread, the checkpoints that were read from the archive and not restored to the warm tier. */
  readonly #served = remembering<Map<string, Address>>(rememberedThreads);

  constructor(cold: Tier, warm: WarmTier, breaker: BreakerSettings, now: () => number) {
    this.tier = cold;
    this.#cold = new ColdTier(cold, breaker, now);
    this.#warm = warm;
    this.#now = now;
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
    const { checkpoint } = await this.#cold.run(at.threadId, (cold) => cold.read(address));
    if (checkpoint === undefined) return state;
    if (restoreOn === "read" && (await this.#restore(checkpoint, state))) {
      const restored = await this.#warm.read(at);
      if (restored.checkpoint !== undefined) return restored;
    }
    this.#serve(address);
    return { ...state, checkpoint: await this.#withLaterWrites(checkpoint, later(checkpoint)) };
  }

  /** Whether checkpoints of the thread were read from the archive and not restored to the warm tier. */
  servedUnrestored(threadId: string): boolean {
    return this.#served.has(threadId);
  }

  /**
   * Restores to the warm tier those checkpoints of a thread that were read from the archive.
   * @throws StratigraphError "ARCHIVE_UNAVAILABLE"
   */
  async restoreServed(threadId: string): Promise<void> {
    for (const address of this.#served.get(threadId)?.values() ?? []) {
      if ((await this.#warm.read(address)).checkpoint !== undefined) continue;
      const { checkpoint } = await this.#cold.run(threadId, (cold) => cold.read(address));
      if (checkpoint !== undefined) await this.#restoreWhole(checkpoint);
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
    const { threadId, namespace = "", checkpointId } = query;
    const isWhole = checkpointId === undefined;
    // Whoever lists records alone sets heads right, and has to see what is left.
    if (isWhole && query.recordsOnly !== true && begun.head !== undefined)
      await this.#refuseLost({ threadId, namespace });
    let isFound = false;
    for await (const listed of this.#both(this.#warm.list(query), query, begun)) {
      isFound = true;
      yield listed;
    }
    if (!isWhole && !isFound && begun.head !== undefined)
      await this.#refuseLost({ threadId, namespace, checkpointId });
  }

  /**
   * Refuses to answer for an archive that lacks what the warm tier dropped for it: that of another database, or one that was set back. Its
   * answer would be a shorter history.
   * @param at a checkpoint that neither tier has, or a namespace
   * @throws EvictedError
   */
  async #refuseLost({ threadId, namespace, checkpointId }: MaybeAddress): Promise<void> {
    const archived = await this.#cold.run(threadId, (cold) => cold.peek({ threadId, namespace }));
    // The warm tier afterwards: a deletion begins there.
    const { head } = await this.#warm.peek({ threadId, namespace });
    if (head === undefined || !(await this.holdsMore(threadId))) return;
    const at = { threadId, namespace, checkpointId: head };
    if (archived.revision > 0 && head !== checkpointId) {
      if (head === archived.head || (await this.#warmRecord(at)) !== undefined) return;
      if ((await this.#cold.run(threadId, (cold) => cold.read(at))).checkpoint !== undefined) return;
    }
    throw new EvictedError(this.tier.name, at, this.#warm.primary.name);
  }

  /**
   * What the warm tier lists of a thread, together with what the archive has. The warm tier is listed by pages, and the thread may be
   * archived between two of them. An archiver lets the warm tier drop only what it has found in the archive. So whatever is missing
   * from the warm listing is in a listing of the archive that begins after that has ended.
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
    // Whoever prunes would remove what is left of what hangs on a head that isn't there.
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
   * later: it finds the warm tier's tombstone, or, where the thread has begun anew, the life that the warm tier no longer names.
   */
  async deleteThread(
    threadId: string,
    { isAnnounced, isCopied, sinceMs }: DeletedArchive & { readonly sinceMs: number },
  ): Promise<void> {
    this.#served.delete(threadId);
    try {
      // This process may have been suspended, and the thread begun anew and archived since. Maintenance tells the lives apart.
      const isLate = this.#now() - sinceMs > latestMs;
      if (isLate && (await this.#warm.peek({ threadId, namespace: lifeOf })).head !== undefined)
        return await this.#owe(threadId);
      await this.#cold.run(threadId, async (cold) => {
        // An archiver that has announced itself may still bring its copy. Only what is deleted in the archive after that refuses it.
        if (isAnnounced && !isCopied) await cold.append(fence(threadId));
        await cold.deleteThread(threadId);
      });
    } catch (error) {
      if (!StratigraphError.is(error, "ARCHIVE_UNAVAILABLE")) throw error;
      await this.#owe(threadId, error);
    }
  }

  /**
   * Whether the warm tier has a life again that was deleted, because it was set back while its archive was deleted. One small query, and
   * none for a thread that wasn't archived.
   */
  async isBack(threadId: string, { life }: DeletedArchive): Promise<boolean> {
    return life !== undefined && (await this.#warm.peek({ threadId, namespace: lifeOf })).head === life;
  }

  /** Has the next maintenance of any process look through the archive for what was deleted. */
  async #owe(threadId: string, error?: unknown): Promise<void> {
    trace({ type: "maintenance", what: "deletion owed", threadId, data: { error } });
    const warm = this.#warm.primary;
    // If this fails too, it is found a day later.
    if (keepsLeases(warm)) await warm.lease(lookedThrough, lookedThrough, 0).catch(() => undefined);
  }

  /** Continues a walk to ancestors (`found`) where the warm tier's part of it ends. */
  async ancestry(
    at: Address,
    found: readonly StoredCheckpoint[],
    seedTags: readonly number[],
    limit: number,
  ): Promise<readonly StoredCheckpoint[]> {
    const open = new Set(seedTags);
    for (const { record } of found) for (const tag of record.tags) open.delete(tag);
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
    return [
      ...found,
      ...(await Promise.all(rest.map((stored) => this.#withLaterWrites(stored, later(stored))))),
    ];
  }

  /** Whether a thread is marked as archived, so that the archive may have more of it. Makes one small query to the warm tier. */
  async holdsMore(threadId: string): Promise<boolean> {
    return (await this.#mark(threadId)).head !== undefined;
  }

  /** The mark of a thread that the archive may have more of, and the thread's revision. One small query to the warm tier. */
  async #mark(threadId: string): Promise<ThreadState> {
    return await this.#warm.peek({ threadId, namespace: archivedMark });
  }

  /** Whether the archive may have something of a thread's life, be it a copy that an archiver didn't complete. */
  async #mayHaveCopy(threadId: string): Promise<boolean> {
    return (
      (await this.holdsMore(threadId)) ||
      (await this.#warm.peek({ threadId, namespace: lifeOf })).head !== undefined
    );
  }

  /** What a deletion must know of a thread before it deletes it. */
  async beforeDeletion(threadId: string): Promise<BeforeDeletion> {
    const [mark, life, root] = await Promise.all(
      [archivedMark, lifeOf, ""].map((namespace) => this.#warm.peek({ threadId, namespace })),
    );
    const isCopied = mark!.head !== undefined;
    return {
      revision: Math.min(mark!.revision, life!.revision, root!.revision),
      isCopied,
      life: isCopied ? life!.head : undefined,
      mayHold: isCopied || life!.head !== undefined || isDeleted(root!),
      isAnnounced: life!.head !== undefined,
    };
  }

  /** Archived checkpoints of threads that still have a head in the warm tier, with that head. */
  async *#listCold(query: ListQuery): AsyncGenerator<ListedCheckpoint> {
    const { threadId: asked } = query;
    const ofQuery = asked === undefined ? undefined : await this.#laterWrites({ ...query, threadId: asked });
    const listing = this.#cold.iterate(query.threadId, (cold) => cold.list(query));
    for await (const { threadId, listing: ofThread } of listByThread(listing)) {
      const heads = new Map<string, string | undefined>();
      const headOf = async (namespace: string): Promise<string | undefined> => {
        if (!heads.has(namespace))
          heads.set(namespace, (await this.#warm.peek({ threadId, namespace })).head);
        return heads.get(namespace);
      };
      // Nobody relies on what is in the archive without the mark: a copy that isn't complete, or of a life that was deleted.
      if ((await headOf(archivedMark)) === undefined) continue;
      const later = ofQuery ?? (await this.#laterWrites({ threadId }));
      for await (const listed of ofThread) {
        const head = await headOf(listed.record.namespace);
        if (head === undefined && (await headOf("")) === undefined) continue;
        yield { ...(await this.#withLaterWrites(listed, later(listed))), head };
      }
    }
  }

  /**
   * The pending writes that came to a thread's checkpoints after these were archived, and are in the warm tier. Asked before the archive is
   * read: an archiver takes them from the warm tier once they are in the archive, so that whoever asks in this order finds them in one of the two.
   */
  async #laterWrites({
    threadId,
    namespace = "",
    checkpointId,
  }: Pick<ListQuery, "namespace" | "checkpointId"> & { readonly threadId: string }) {
    const one = checkpointId === undefined ? undefined : [{ threadId, namespace, checkpointId }];
    const writes = new Map<string, readonly StoredWriteBatch[]>();
    for (const at of one ?? (await this.#strays(threadId)))
      writes.set(addressKey(at, at.checkpointId), (await this.#warm.peek(at)).writes);
    return ({ record }: StoredCheckpoint) => writes.get(addressKey(record, record.checkpointId)) ?? [];
  }

  /** Adds to an archived checkpoint the pending writes that came after it was archived. */
  async #withLaterWrites<T extends StoredCheckpoint>(
    stored: T,
    writes: readonly StoredWriteBatch[],
  ): Promise<T> {
    if (writes.length === 0) return stored;
    // Some may be in both, if an archiver brought them to the archive between the two answers: whoever reads counts a batch once.
    if (blobClosure(namedBlobs(undefined, writes), stored.blobs) !== undefined)
      return { ...stored, writes: [...stored.writes, ...writes] };
    // The writes name blobs that only the warm tier has. It answers blobs only together with their checkpoint, so restore that first.
    if (looksOnly()) throw new EvictedError(this.#warm.primary.name, pick(stored.record));
    const restored = await this.#restoreWhole(stored);
    return { ...stored, ...restored };
  }

  /**
   * Restores archived checkpoints that have received pending writes since they were archived. The archiver copies what the warm tier
   * lists, and that lists pending writes only with their checkpoint.
   */
  async restoreWritten(threadId: string): Promise<void> {
    if (!(await this.holdsMore(threadId))) return;
    for (const at of await this.#strays(threadId)) {
      const { checkpoint } = await this.#cold.run(threadId, (cold) => cold.read(at));
      if (checkpoint !== undefined) await this.#restoreWhole(checkpoint);
    }
  }

  /**
   * Restores every archived checkpoint of a thread.
   * @returns how much was copied; undefined where the archive has nothing of the thread
   * @throws StratigraphError "ARCHIVE_UNAVAILABLE", "OVERLOADED"; EvictedError where it lacks what the warm tier dropped
   */
  async restoreThread(threadId: string): Promise<MovedThread | undefined> {
    if (!(await this.holdsMore(threadId))) return undefined;
    await this.#refuseLost({ threadId, namespace: "" });
    let [checkpoints, bytes] = [0, 0];
    const counted = new Set<BlobHash>();
    for await (const stored of this.#listCold({ threadId })) {
      const { record, writes, blobs, head } = stored;
      // Without a head, nothing leads to it any more.
      if (head === undefined || (await this.#warmRecord(record)) !== undefined) continue;
      await this.#restoreWhole(stored);
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
   * @throws StratigraphError "OVERLOADED"; CorruptionError where the archive doesn't have all of it
   */
  async #restoreWhole(stored: StoredCheckpoint): Promise<StoredCheckpoint> {
    const at = pick(stored.record);
    const missing = missingBlob(namedBlobs(stored.record, stored.writes), stored.blobs);
    for (let attempt = 0; attempt < attempts; attempt += 1) {
      const state = await this.#warm.read(at);
      if (state.checkpoint !== undefined) return state.checkpoint;
      if (missing !== undefined)
        throw new CorruptionError(at, `blob ${missing} is missing in its archive (tier ${this.tier.name})`);
      await this.#restore(stored, state);
    }
    throw new StratigraphError(
      "OVERLOADED",
      `Thread ${JSON.stringify(at.threadId)} changed during each of ${attempts} attempts to restore it from the archive. Repeat the call.`,
      { ...at },
    );
  }

  /** Copies an archived checkpoint back to the warm tier. False if somebody changed the thread meanwhile. */
  async #restore(stored: StoredCheckpoint, state: Reading): Promise<boolean> {
    const { record, writes } = stored;
    const { threadId, namespace, checkpointId } = record;
    const blobs = blobClosure(namedBlobs(record, writes), stored.blobs);
    if (blobs === undefined || state.head === undefined) return false;
    // Otherwise two readers that restore at the same time would add the same pending writes twice, perhaps after newer ones.
    const mark = await this.#mark(threadId);
    const now = await this.#warm.peek({ threadId, namespace, checkpointId });
    if (now.revision !== state.revision) return false;
    // Append the newer writes once more, because they must come after the restored ones, if there are any, which they may replace.
    const inOrder = writes.length === 0 ? [] : [...writes, ...now.writes];
    try {
      await this.#warm.primary.append({
        threadId,
        records: [record],
        blobs: [...blobs.values()],
        writes: inOrder.map((batch) => ({ threadId, namespace, checkpointId, ...batch })),
        heads: [
          { namespace, to: state.head, expected: [state.head] },
          // Each restore gives the mark a value of its own, so that of two that have got this far one is refused.
          {
            namespace: archivedMark,
            to: `restored by ${randomUUID()}`,
            expected: mark.head === undefined ? [] : [mark.head],
          },
        ],
        onConflict: "refuse",
        seen: state.revision,
      });
    } catch (error) {
      if (isOvertaken(error)) return false;
      throw error;
    }
    trace({ type: "maintenance", what: "restored", threadId, data: { namespace, checkpointId } });
    return true;
  }

  #serve(at: Address): void {
    const served = this.#served.get(at.threadId) ?? new Map<string, Address>();
    served.set(addressKey(at, at.checkpointId), at);
    this.#served.set(at.threadId, served);
  }
}

/** Whether a thread is deleted already, perhaps while the archive couldn't be reached. */
function isDeleted({ revision, head }: ThreadState): boolean {
  return revision > 0 && head === undefined;
}

/** An append after which a deletion of the thread refuses all that was read before. */
function fence(threadId: string): AppendRequest {
  const heads = [{ namespace: lifeOf, to: "deleted", expected: "any" as const }];
  return { threadId, records: [], blobs: [], heads, onConflict: "refuse" };
}

function pick({ threadId, namespace, checkpointId }: Address): Address {
  return { threadId, namespace, checkpointId };
}
