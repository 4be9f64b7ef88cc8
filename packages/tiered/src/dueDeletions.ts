import { isArchiveSource, type ArchiveSource, type Tier } from "@stratigraph/core";

/** How exactly tiers know when a thread was written, and how long a deletion may take. Milliseconds. */
const overlapMs = 120_000;

/** An archive that has to go: its thread was deleted, or `retain` is over. */
export interface DueDeletion {
  readonly why: "deleted" | "expired";
  readonly threadId: string;
}

/** Finds archived threads that have to be deleted. It changes nothing. */
export class DueDeletions {
  readonly #warm: Tier;
  readonly #cold: Tier;
  readonly #retainMs: number | undefined;
  readonly #now: () => number;
  /** Tombstones older than this were looked at; milliseconds since 1970 by the warm tier's clock. */
  #deletedFromMs = 0;
  #expiryLookedAtMs = Number.NEGATIVE_INFINITY;
  #mustRepeat = false;

  constructor(warm: Tier, cold: Tier, retainMs: number | undefined, now: () => number) {
    this.#warm = warm;
    this.#cold = cold;
    this.#retainMs = retainMs;
    this.#now = now;
  }

  /** Makes the next search find the same threads again, because one of them could not be deleted. */
  repeat(): void {
    this.#mustRepeat = true;
  }

  async *threads(): AsyncGenerator<DueDeletion> {
    this.#mustRepeat = false;
    yield* isArchiveSource(this.#warm) ? this.#byTombstones(this.#warm) : this.#byArchive();
    yield* this.#expired();
  }

  /** Asks the archive once for each deleted thread. */
  async *#byTombstones(warm: ArchiveSource): AsyncGenerator<DueDeletion> {
    let newestMs = 0;
    for await (const { threadId, deletedAtMs } of warm.tombstones({ deletedFromMs: this.#deletedFromMs })) {
      const archived = await this.#cold.peek({ threadId, namespace: "" });
      newestMs = deletedAtMs;
      if (archived.head === undefined) continue;
      yield { why: "deleted", threadId };
    }
    // The next search begins a little earlier, because transactions may end in another order than they began.
    if (!this.#mustRepeat) this.#deletedFromMs = Math.max(this.#deletedFromMs, newestMs - overlapMs);
  }

  /** For warm tiers that don't list tombstones: asks the warm tier about each archived thread. */
  async *#byArchive(): AsyncGenerator<DueDeletion> {
    for await (const { threadId, head } of this.#cold.threads({})) {
      const owner = await this.#warm.peek({ threadId, namespace: "" });
      // At revision 0 the warm tier has never had the thread. The database may be new or lost, so the archive stays.
      if (owner.revision > 0 && owner.head === undefined && head !== undefined)
        yield { why: "deleted", threadId };
    }
  }

  /** Lists the archive, which is costly: at most a hundred times within `retain`. */
  async *#expired(): AsyncGenerator<DueDeletion> {
    if (this.#retainMs === undefined) return;
    const now = this.#now();
    if (now - this.#expiryLookedAtMs < this.#retainMs / 100) return;
    for await (const { threadId } of this.#cold.threads({ writtenBeforeMs: now - this.#retainMs }))
      yield { why: "expired", threadId };
    if (!this.#mustRepeat) this.#expiryLookedAtMs = now;
  }
}
