import { isArchiveSource, type ArchiveSource, type Tier } from "@stratigraph/core";

/** How exactly tiers know when a thread was written, and how long a deletion may take. Milliseconds. */
const overlapMs = 120_000;

/** What a sweep found: an archive whose thread was deleted, or one that was kept long enough. */
export interface DueDeletion {
  readonly why: "deleted" | "expired";
  readonly threadId: string;
}

/** Finds archived threads that have to go. Nothing is changed. */
export class DueDeletions {
  readonly #warm: Tier;
  readonly #cold: Tier;
  readonly #retainMs: number | undefined;
  readonly #now: () => number;
  /** Tombstones older than this were looked at. By the warm tier's clock. */
  #deletedFromMs = 0;
  #expiryLookedAtMs = Number.NEGATIVE_INFINITY;
  #mustRepeat = false;

  constructor(warm: Tier, cold: Tier, retainMs: number | undefined, now: () => number) {
    this.#warm = warm;
    this.#cold = cold;
    this.#retainMs = retainMs;
    this.#now = now;
  }

  /** A thread that was found is still there: the next sweep has to find it again. */
  repeat(): void {
    this.#mustRepeat = true;
  }

  async *threads(): AsyncGenerator<DueDeletion> {
    this.#mustRepeat = false;
    yield* isArchiveSource(this.#warm) ? this.#byTombstones(this.#warm) : this.#byArchive();
    yield* this.#expired();
  }

  /** One request per deleted thread, once. */
  async *#byTombstones(warm: ArchiveSource): AsyncGenerator<DueDeletion> {
    let newestMs = 0;
    for await (const { threadId, deletedAtMs } of warm.tombstones({ deletedFromMs: this.#deletedFromMs })) {
      const archived = await this.#cold.peek({ threadId, namespace: "" });
      newestMs = deletedAtMs;
      if (archived.head === undefined) continue;
      yield { why: "deleted", threadId };
    }
    // Again from a little before: transactions end in another order than they begin.
    if (!this.#mustRepeat) this.#deletedFromMs = Math.max(this.#deletedFromMs, newestMs - overlapMs);
  }

  /** Where the warm tier can't tell: one question per archived thread. */
  async *#byArchive(): AsyncGenerator<DueDeletion> {
    for await (const { threadId, head } of this.#cold.threads({})) {
      const owner = await this.#warm.peek({ threadId, namespace: "" });
      // Revision 0: the warm tier never heard of the thread. That may be a lost or new database; its archive stays.
      if (owner.revision > 0 && owner.head === undefined && head !== undefined)
        yield { why: "deleted", threadId };
    }
  }

  /** The archive is listed for it, so it is done a hundred times in the time that threads are kept. */
  async *#expired(): AsyncGenerator<DueDeletion> {
    if (this.#retainMs === undefined) return;
    const now = this.#now();
    if (now - this.#expiryLookedAtMs < this.#retainMs / 100) return;
    for await (const { threadId } of this.#cold.threads({ writtenBeforeMs: now - this.#retainMs }))
      yield { why: "expired", threadId };
    if (!this.#mustRepeat) this.#expiryLookedAtMs = now;
  }
}
