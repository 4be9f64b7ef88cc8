// long file: what the archive adds to each method of a stack, read as one piece
import {
  StratigraphError,
  addressKey,
  blobClosure,
  isArchiveSource,
  namedBlobs,
  trace,
  type Address,
  type BlobInfo,
  type CheckpointRecord,
  type ListedCheckpoint,
  type ListQuery,
  type MaybeAddress,
  type Reading,
  type RemoveRequest,
  type StoredCheckpoint,
  type Tier,
} from "@stratigraph/core";
import { ancestorsOf, lineOf } from "./ancestors.ts";
import { archivedMark } from "./archivedMark.ts";
import type { BreakerSettings, BreakerState } from "./breaker.ts";
import { byThread } from "./listByThread.ts";
import { ColdTier } from "./coldTier.ts";
import { mergeListed } from "./mergeListed.ts";
import type { RestoreOn } from "./options.ts";
import type { WarmTier } from "./warmTier.ts";

/** Threads remembered as read from the archive and not restored. */
const remembered = 10_000;
/** A restore is based on a revision and repeated if the thread moved on; this often. */
const attempts = 8;

/**
 * The cold tier as a stack reads it. It is asked only for threads that the archiver marked in the warm tier. So threads that
 * were never archived cost no request, and don't notice an archive that is down.
 */
export class Archive {
  readonly tier: Tier;
  readonly #cold: ColdTier;
  readonly #warm: WarmTier;
  /** Checkpoints handed out from the archive that the warm tier doesn't have, by thread. */
  readonly #served = new Map<string, Map<string, Address>>();

  constructor(cold: Tier, warm: WarmTier, breaker: BreakerSettings, now: () => number) {
    this.tier = cold;
    this.#cold = new ColdTier(cold, breaker, now);
    this.#warm = warm;
  }

  get breaker(): BreakerState {
    return this.#cold.breaker;
  }

  /** A checkpoint that the warm tier, at `state`, hasn't got. One request. @throws StratigraphError "ARCHIVE_UNAVAILABLE" */
  async read(at: MaybeAddress, state: Reading, restoreOn: RestoreOn): Promise<Reading> {
    const checkpointId = at.checkpointId ?? state.head!;
    const address: Address = { ...at, checkpointId };
    if (checkpointId !== state.head && !(await this.holdsMore(at.threadId))) return state;
    const { checkpoint } = await this.#cold.run(at.threadId, (cold) => cold.read(address));
    if (checkpoint === undefined) return state;
    if (restoreOn === "read" && (await this.#restore(checkpoint, state))) {
      const restored = await this.#warm.read(at);
      if (restored.checkpoint !== undefined) return restored;
    }
    this.#serve(address);
    return { ...state, checkpoint: await this.#withLaterWrites(checkpoint) };
  }

  /** Whether checkpoints of the thread were handed out that the warm tier doesn't have. */
  servedUnrestored(threadId: string): boolean {
    return this.#served.has(threadId);
  }

  /** Brings what was handed out of a thread into the warm tier. @throws StratigraphError "ARCHIVE_UNAVAILABLE" */
  async restoreServed(threadId: string): Promise<void> {
    for (const address of this.#served.get(threadId)?.values() ?? []) {
      if ((await this.#warm.read(address)).checkpoint !== undefined) continue;
      const { checkpoint } = await this.#cold.run(threadId, (cold) => cold.read(address));
      if (checkpoint !== undefined) await this.#restoreWhole(checkpoint);
    }
    this.#served.delete(threadId);
  }

  /** Warm and cold checkpoints without gaps: newest first, thread by thread. */
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
    const more = await this.holdsMore(query.threadId);
    const warm = this.#warm.list(query);
    yield* more ? mergeListed(warm, this.#listCold(query)) : warm;
  }

  /**
   * First the threads that the warm tier has something of, then those that are in the archive alone. What is remembered is an
   * id per thread that is in both. A thread that is archived meanwhile may come twice; none is left out.
   */
  async *#listAll(query: ListQuery): AsyncGenerator<ListedCheckpoint> {
    const inBoth = new Set<string>();
    for await (const { threadId, listing } of byThread(this.#warm.list(query))) {
      const more = await this.holdsMore(threadId);
      if (more) inBoth.add(threadId);
      yield* more ? mergeListed(listing, this.#listCold({ ...query, threadId })) : listing;
    }
    for await (const listed of this.#listCold(query)) if (!inBoth.has(listed.record.threadId)) yield listed;
  }

  /** Blobs of a thread in either tier. */
  async blobs(threadId: string, warm: readonly BlobInfo[]): Promise<readonly BlobInfo[]> {
    if (!(await this.holdsMore(threadId))) return warm;
    const cold = await this.#cold.run(threadId, (tier) => tier.blobs(threadId));
    return [...new Map([...cold, ...warm].map((info) => [info.hash, info])).values()];
  }

  /**
   * Takes checkpoints out of the archive, before the warm tier does. False where the thread changed since the decision.
   * @throws StratigraphError "ARCHIVE_UNAVAILABLE"
   */
  async remove(request: RemoveRequest): Promise<boolean> {
    const { threadId } = request;
    if (!(await this.holdsMore(threadId))) return true;
    const { revision } = await this.#warm.peek({ threadId, namespace: "" });
    if (revision !== request.revision) return false;
    return await this.#cold.run(threadId, async (cold) => {
      const archived = await cold.peek({ threadId, namespace: "" });
      if (archived.revision === 0) return true;
      return await cold.remove({ ...request, revision: archived.revision });
    });
  }

  /** Deletes a thread's archive; where that fails now, maintenance does it: the warm tier's tombstone tells. */
  async deleteThread(threadId: string): Promise<void> {
    this.#served.delete(threadId);
    try {
      await this.#cold.run(threadId, (cold) => cold.deleteThread(threadId));
    } catch (error) {
      if (!StratigraphError.is(error, "ARCHIVE_UNAVAILABLE")) throw error;
      trace({ type: "maintenance", what: "deletion owed", threadId, data: { error } });
    }
  }

  /** The parent chain on from where the warm tier's ends. */
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
    const rest = await this.#cold.run(at.threadId, async (cold) =>
      last === undefined
        ? await ancestorsOf(cold, at, open, limit)
        : await lineOf(cold, { ...pick(last), checkpointId: last.parentId! }, open, limit - found.length),
    );
    return [...found, ...(await Promise.all(rest.map((stored) => this.#withLaterWrites(stored))))];
  }

  /** Whether the archive has, or had, checkpoints of a thread that wasn't deleted since. One small query of the warm tier. */
  async holdsMore(threadId: string): Promise<boolean> {
    return (await this.#warm.peek({ threadId, namespace: archivedMark })).head !== undefined;
  }

  /**
   * Whether a deletion has to ask the archive: it holds something, or the thread was deleted before, perhaps while the archive
   * was away. Not about threads that were never archived.
   */
  async mayHold(threadId: string): Promise<boolean> {
    if (await this.holdsMore(threadId)) return true;
    const { revision, head } = await this.#warm.peek({ threadId, namespace: "" });
    return revision > 0 && head === undefined;
  }

  /** Archived checkpoints of threads that still have a head, as the warm tier knows it. */
  async *#listCold(query: ListQuery): AsyncGenerator<ListedCheckpoint> {
    const listing = this.#cold.iterate(query.threadId, (cold) => cold.list(query));
    for await (const { threadId, listing: ofThread } of byThread(listing)) {
      const heads = new Map<string, string | undefined>();
      const headOf = async (namespace: string): Promise<string | undefined> => {
        if (!heads.has(namespace))
          heads.set(namespace, (await this.#warm.peek({ threadId, namespace })).head);
        return heads.get(namespace);
      };
      for await (const listed of ofThread) {
        const head = await headOf(listed.record.namespace);
        if (head === undefined && (await headOf("")) === undefined) continue;
        yield { ...(await this.#withLaterWrites(listed)), head };
      }
    }
  }

  /** An archived checkpoint with what was written on it since, which is in the warm tier. */
  async #withLaterWrites<T extends StoredCheckpoint>(stored: T): Promise<T> {
    const { writes } = await this.#warm.peek(stored.record);
    if (writes.length === 0) return stored;
    if (blobClosure(namedBlobs(undefined, writes), stored.blobs) !== undefined)
      return { ...stored, writes: [...stored.writes, ...writes] };
    // Blobs that only the warm tier has come with their checkpoint only: it must go there first.
    const restored = await this.#restoreWhole(stored);
    return { ...stored, ...restored };
  }

  /**
   * Brings archived checkpoints back into the warm tier that were written on since: the archiver takes what the warm tier
   * lists, and pending writes are listed with their checkpoint.
   */
  async restoreWritten(threadId: string): Promise<void> {
    if (!(await this.holdsMore(threadId))) return;
    for (const at of await this.#strays(threadId)) {
      const { checkpoint } = await this.#cold.run(threadId, (cold) => cold.read(at));
      if (checkpoint !== undefined) await this.#restoreWhole(checkpoint);
    }
  }

  /** Archived checkpoints that the warm tier has pending writes of, and no record. */
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

  /** Restores a checkpoint, also while the thread is written to. @throws StratigraphError "OVERLOADED" */
  async #restoreWhole(stored: StoredCheckpoint): Promise<StoredCheckpoint> {
    const at = pick(stored.record);
    for (let attempt = 0; attempt < attempts; attempt += 1) {
      const state = await this.#warm.read(at);
      if (state.checkpoint !== undefined) return state.checkpoint;
      await this.#restore(stored, state);
    }
    throw new StratigraphError(
      "OVERLOADED",
      `Thread ${JSON.stringify(at.threadId)} changed during each of ${attempts} attempts to restore it from the archive. Repeat the call.`,
      { ...at },
    );
  }

  /** Puts an archived checkpoint back into the warm tier, if nobody changed the thread meanwhile. */
  async #restore(stored: StoredCheckpoint, state: Reading): Promise<boolean> {
    const { record, writes } = stored;
    const { threadId, namespace, checkpointId } = record;
    const blobs = blobClosure(namedBlobs(record, writes), stored.blobs);
    if (blobs === undefined || state.head === undefined) return false;
    // Two readers restoring at once would add the same pending writes twice, the second time perhaps after newer ones.
    const now = await this.#warm.peek({ threadId, namespace, checkpointId });
    if (now.revision !== state.revision) return false;
    // What was written on the archived checkpoint since: again, so that it comes after what it may replace.
    const inOrder = [...writes, ...now.writes];
    try {
      await this.#warm.primary.append({
        threadId,
        records: [record],
        blobs: [...blobs.values()],
        writes: inOrder.map((batch) => ({ threadId, namespace, checkpointId, ...batch })),
        heads: [{ namespace, to: state.head, expected: [state.head] }],
        onConflict: "refuse",
        seen: state.revision,
      });
    } catch (error) {
      if (StratigraphError.is(error, "CHECKPOINT_CONFLICT") || StratigraphError.is(error, "THREAD_DELETED"))
        return false;
      throw error;
    }
    trace({ type: "maintenance", what: "restored", threadId, data: { namespace, checkpointId } });
    return true;
  }

  #serve(at: Address): void {
    const served = this.#served.get(at.threadId) ?? new Map<string, Address>();
    served.set(addressKey(at, at.checkpointId), at);
    bounded(this.#served).set(at.threadId, served);
  }
}

function pick({ threadId, namespace, checkpointId }: Address): Address {
  return { threadId, namespace, checkpointId };
}

/** Makes room for one more entry. */
function bounded<V>(map: Map<string, V>): Map<string, V> {
  if (map.size >= remembered) map.delete(map.keys().next().value!);
  return map;
}
