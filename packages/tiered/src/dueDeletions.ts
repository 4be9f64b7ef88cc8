import { isArchiveSource, type ArchiveSource, type Tier } from "@stratigraph/core";

/** More than the time that a deletion may take, and than the error in the times of writes that tiers report. In milliseconds. */
const overlapMs = 120_000;

/** An archive that must be deleted: its thread was deleted, or `retain` is over. */
export interface DueDeletion {
  readonly why: "deleted" | "expired";
  readonly threadId: string;
}

/** Finds archived threads that must be deleted. It changes nothing itself. */
export class DueDeletions {
  readonly #warm: Tier;
  readonly #cold: Tier;
  readonly #retainMs: number | undefined;
  readonly #now: () => number;
  /** Tombstones older than this were looked at. Milliseconds since 1970, by the warm tier's clock. */
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
    // Begin the next search a little earlier, because transactions don't always end in the order in which they began.
    if (!this.#mustRepeat) this.#deletedFromMs = Math.max(this.#deletedFromMs, newestMs - overlapMs);
  }

  /** Asks the warm tier about each archived thread. For warm tiers that can't list tombstones. */
  async *#byArchive(): AsyncGenerator<DueDeletion> {
    for await (const { threadId, head } of this.#cold.threads({})) {
      const owner = await this.#warm.peek({ threadId, namespace: "" });
      // Revision 0 means that the warm tier has never had the thread. Its database may be new or lost, so keep the archive.
      if (owner.revision > 0 && owner.head === undefined && head !== undefined)
        yield { why: "deleted", threadId };
    }
  }

  /** Lists the archive. That is costly, so it is done at most a hundred times within `retain`. */
  async *#expired(): AsyncGenerator<DueDeletion> {
    if (this.#retainMs === undefined) return;
    const now = this.#now();
    if (now - this.#expiryLookedAtMs < this.#retainMs / 100) return;
    for await (const { threadId } of this.#cold.threads({ writtenBeforeMs: now - this.#retainMs }))
      yield { why: "expired", threadId };
    if (!this.#mustRepeat) this.#expiryLookedAtMs = now;
  }
}
