import {
  StratigraphError,
  readsAncestry,
  trace,
  type Address,
  type BlobInfo,
  type ListedCheckpoint,
  type ListQuery,
  type MaybeAddress,
  type Reading,
  type RemoveRequest,
  type StoredCheckpoint,
  type Tier,
} from "@stratigraph/core";
import type { BreakerSettings } from "./breaker.ts";
import { chainsOf, namedBlobs } from "./chains.ts";
import { ColdTier } from "./coldTier.ts";
import { mergeListed } from "./mergeListed.ts";
import type { RestoreOn } from "./options.ts";
import type { WarmTier } from "./warmTier.ts";

/** Threads remembered as read from the archive and not restored; and as not needing it. */
const remembered = 10_000;

/**
 * The cold tier as a stack reads it. A thread's archived part is looked for only where the warm tier lacks something: its
 * head's bytes, or the parent of a checkpoint that it has. So threads that were never archived cost no request, and don't
 * notice an archive that is down.
 */
export class Archive {
  readonly tier: Tier;
  readonly #cold: ColdTier;
  readonly #warm: WarmTier;
  /** Checkpoints handed out from the archive that the warm tier doesn't have, by thread. */
  readonly #served = new Map<string, Map<string, Address>>();
  /** Revision at which a thread was seen to lack nothing in the warm tier. */
  readonly #complete = new Map<string, number>();
  /** Deleted threads whose archive couldn't be deleted yet. */
  readonly #owed = new Set<string>();

  constructor(cold: Tier, warm: WarmTier, breaker: BreakerSettings, now: () => number) {
    this.tier = cold;
    this.#cold = new ColdTier(cold, breaker, now);
    this.#warm = warm;
  }

  /** Deleted threads known to this process whose archive is still there. */
  get owed(): ReadonlySet<string> {
    return this.#owed;
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
    const { writes } = await this.#warm.peek(address);
    const later = writes.filter(({ blobs }) => chainsOf(blobs, checkpoint.blobs) !== undefined);
    return { ...state, checkpoint: { ...checkpoint, writes: [...checkpoint.writes, ...later] } };
  }

  /** Whether checkpoints of the thread were handed out that the warm tier doesn't have. */
  servedUnrestored(threadId: string): boolean {
    return this.#served.has(threadId);
  }

  /** Brings what was handed out of a thread into the warm tier. @throws StratigraphError "ARCHIVE_UNAVAILABLE" */
  async restoreServed(threadId: string): Promise<void> {
    for (const address of this.#served.get(threadId)?.values() ?? []) {
      const state = await this.#warm.read(address);
      if (state.checkpoint !== undefined || state.head === undefined) continue;
      const { checkpoint } = await this.#cold.run(threadId, (cold) => cold.read(address));
      if (checkpoint !== undefined) await this.#restore(checkpoint, state);
    }
    this.#served.delete(threadId);
  }

  /** Warm and cold checkpoints, newest first, without gaps or doubles. Across threads: all warm ones, then the archived. */
  async *list(query: ListQuery): AsyncGenerator<ListedCheckpoint> {
    const { threadId, limit = Number.POSITIVE_INFINITY } = query;
    let left = limit;
    if (threadId !== undefined) {
      const more = await this.holdsMore(threadId);
      const warm = this.#warm.list(query);
      for await (const listed of more ? mergeListed(warm, this.#listCold(query)) : warm) {
        yield listed;
        left -= 1;
        if (left <= 0) return;
      }
      return;
    }
    const seen = new Set<string>();
    for await (const listed of this.#warm.list(query)) {
      seen.add(keyOf(listed.record));
      yield listed;
      left -= 1;
      if (left <= 0) return;
    }
    for await (const listed of this.#listCold(query)) {
      if (seen.has(keyOf(listed.record))) continue;
      yield listed;
      left -= 1;
      if (left <= 0) return;
    }
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
    this.#complete.delete(threadId);
    this.#owed.add(threadId);
    try {
      await this.#cold.run(threadId, (cold) => cold.deleteThread(threadId));
      this.#owed.delete(threadId);
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
    const last = found.at(-1)?.record;
    const ended = last !== undefined && last.parentId === undefined;
    if (ended || open.size === 0 || found.length >= limit || !(await this.holdsMore(at.threadId)))
      return found;
    const from = last ?? at;
    const rest = await this.#cold.run(at.threadId, async (cold) =>
      readsAncestry(cold)
        ? await cold.ancestry(from, [...open], limit - found.length)
        : await walk(cold, from, open, limit - found.length),
    );
    return [...found, ...rest];
  }

  /** Whether the warm tier lacks something of a thread that is there: then the archive may have it. */
  async holdsMore(threadId: string): Promise<boolean> {
    const { revision, head } = await this.#warm.peek({ threadId, namespace: "" });
    if (revision === 0 || this.#complete.get(threadId) === revision) return false;
    const here = new Set<string>();
    const wanted = new Set<string>();
    if (head !== undefined) wanted.add(keyOf({ threadId, namespace: "", checkpointId: head }));
    for await (const { record, head: headOf } of this.#warm.list({ threadId, recordsOnly: true })) {
      here.add(keyOf(record));
      if (record.parentId !== undefined) wanted.add(keyOf({ ...record, checkpointId: record.parentId }));
      if (headOf !== undefined) wanted.add(keyOf({ ...record, checkpointId: headOf }));
    }
    if ([...wanted].some((key) => !here.has(key))) return true;
    bounded(this.#complete).set(threadId, revision);
    return false;
  }

  /** Archived checkpoints of threads that still have a head, as the warm tier knows it. */
  async *#listCold(query: ListQuery): AsyncGenerator<ListedCheckpoint> {
    const heads = new Map<string, string | undefined>();
    for await (const listed of this.#cold.iterate(query.threadId, (cold) => cold.list(query))) {
      const { threadId, namespace } = listed.record;
      for (const ns of new Set([namespace, ""])) {
        const key = JSON.stringify([threadId, ns]);
        if (!heads.has(key)) heads.set(key, (await this.#warm.peek({ threadId, namespace: ns })).head);
      }
      const head = heads.get(JSON.stringify([threadId, namespace]));
      if (head === undefined && heads.get(JSON.stringify([threadId, ""])) === undefined) continue;
      yield { ...listed, head };
    }
  }

  /** Puts an archived checkpoint back into the warm tier, if nobody changed the thread meanwhile. */
  async #restore(stored: StoredCheckpoint, state: Reading): Promise<boolean> {
    const { record, writes } = stored;
    const { threadId, namespace, checkpointId } = record;
    const blobs = chainsOf(namedBlobs(record, writes), stored.blobs);
    if (blobs === undefined || state.head === undefined) return false;
    // Two readers restoring at once would add the same pending writes twice, the second time perhaps after newer ones.
    const now = await this.#warm.peek({ threadId, namespace, checkpointId });
    if (now.revision !== state.revision) return false;
    try {
      await this.#warm.primary.append({
        threadId,
        records: [record],
        blobs: [...blobs.values()],
        writes: writes.map((batch) => ({ threadId, namespace, checkpointId, ...batch })),
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
    served.set(keyOf(at), at);
    bounded(this.#served).set(at.threadId, served);
  }
}

function keyOf({ threadId, namespace, checkpointId }: Address): string {
  return JSON.stringify([threadId, namespace, checkpointId]);
}

/** Makes room for one more entry. */
function bounded<V>(map: Map<string, V>): Map<string, V> {
  if (map.size >= remembered) map.delete(map.keys().next().value!);
  return map;
}

async function walk(
  cold: Tier,
  from: Address,
  open: Set<number>,
  limit: number,
): Promise<StoredCheckpoint[]> {
  const found: StoredCheckpoint[] = [];
  let at = (await cold.read(from)).checkpoint?.record;
  while (at?.parentId !== undefined && open.size > 0 && found.length < limit) {
    const { checkpoint } = await cold.read({ ...at, checkpointId: at.parentId });
    if (checkpoint === undefined) break;
    found.push(checkpoint);
    for (const tag of checkpoint.record.tags) open.delete(tag);
    at = checkpoint.record;
  }
  return found;
}
