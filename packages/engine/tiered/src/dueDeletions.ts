import { randomUUID } from "node:crypto";
import { StratigraphError, type ThreadInfo, type Tier } from "@stratigraph/core";
import { isArchiveSource, keepsLeases, trace } from "@stratigraph/core/internal";
import type { ArchiveSource, ThreadQuery } from "@stratigraph/core/tier";
import { archivedMark } from "./archivedMark.ts";
import { hasGiven, lifeOf, mayHaveGiven, wasDeleted, whoseCopy } from "./life.ts";

/** More than a deletion may take, and more than the error in the write times that tiers report. In milliseconds. */
const overlapMs = 120_000;
/** The time between two searches of the whole archive for deleted threads, by all processes together. Milliseconds. */
const lookThroughMs = 86_400_000;
/**
 * The lease in the warm tier that lasts until the archive must be searched again. Its holder has the same name, so that any process may end
 * it.
 */
export const lookedThrough = "archive looked through";

/** An archive that must be deleted: its thread was deleted, or `deleteArchivedAfter` is over. */
export interface DueDeletion {
  readonly why: "deleted" | "expired";
  readonly threadId: string;
  /** The revision of the copy in the archive. Only that copy is to be deleted: the thread may have begun anew, and be archived since. */
  readonly leftAt: number;
}

/** Finds archived threads that must be deleted. It changes no thread itself. */
export class DueDeletions {
  readonly #warm: Tier;
  readonly #cold: Tier;
  readonly #deleteArchivedAfterMs: number | undefined;
  readonly #now: () => number;
  /** Tombstones older than this were looked at. Milliseconds since 1970, by the warm tier's clock. */
  #deletedFromMs = 0;
  #expiryLookedAtMs = Number.NEGATIVE_INFINITY;
  #lookedThroughAtMs = Number.NEGATIVE_INFINITY;
  #mustRepeat = false;
  #onDamaged: ThreadQuery["onDamaged"];
  /** The holder's name in requests for the lease. */
  readonly #holder = randomUUID();

  constructor(warm: Tier, cold: Tier, deleteArchivedAfterMs: number | undefined, now: () => number) {
    this.#warm = warm;
    this.#cold = cold;
    this.#deleteArchivedAfterMs = deleteArchivedAfterMs;
    this.#now = now;
  }

  /** Makes the next search find the same threads again, because one of them could not be deleted. */
  repeat(): void {
    this.#mustRepeat = true;
  }

  /** @param onDamaged called for each thread that is left out, because what names it, or tells whose its copy is, is damaged */
  async *threads(onDamaged: (error: Error) => void): AsyncGenerator<DueDeletion> {
    this.#mustRepeat = false;
    this.#onDamaged = onDamaged;
    if (isArchiveSource(this.#warm)) {
      yield* this.#byTombstones(this.#warm);
      if (await this.#isToLookThrough()) yield* this.#lookThrough();
    } else yield* this.#byArchive();
    yield* this.#expired();
  }

  /** Asks the archive once for each deleted thread. */
  async *#byTombstones(warm: ArchiveSource): AsyncGenerator<DueDeletion> {
    let newestMs = 0;
    const query = { deletedFromMs: this.#deletedFromMs, onDamaged: this.#onDamaged };
    for await (const { threadId, deletedAtMs } of warm.tombstones(query)) {
      const due = await this.#orTold(() => this.#left(threadId));
      newestMs = deletedAtMs;
      if (due !== undefined) yield due;
    }
    // Begin the next search a little earlier, because transactions don't always end in the order in which they began.
    if (!this.#mustRepeat) this.#deletedFromMs = Math.max(this.#deletedFromMs, newestMs - overlapMs);
  }

  /** What the archive has of a thread that was deleted, and may have begun anew since. */
  async #left(threadId: string): Promise<DueDeletion | undefined> {
    const { revision, head } = await this.#cold.peek({ threadId, namespace: "" });
    return revision === 0 ? undefined : await this.#dueOf({ threadId, head });
  }

  /** What a look at one thread finds. If damage keeps it from being looked at, that is told, and the next one is looked at. */
  async #orTold<T>(look: () => Promise<T>): Promise<T | undefined> {
    try {
      return await look();
    } catch (error) {
      if (!StratigraphError.is(error, "CORRUPT")) throw error;
      this.#onDamaged?.(error);
      return undefined;
    }
  }

  /** Whether the archive must be searched again (`lookThroughMs`). Makes one small query to the warm tier. */
  async #isToLookThrough(): Promise<boolean> {
    // This holder gets the lease only once that of the last search has ended.
    if (keepsLeases(this.#warm)) return await this.#warm.lease(lookedThrough, this.#holder, 1);
    return this.#now() - this.#lookedThroughAtMs >= lookThroughMs;
  }

  /** Finds deletions without a tombstone, because the thread has begun anew, or because an archiver came after the deletion. */
  async *#lookThrough(): AsyncGenerator<DueDeletion> {
    yield* this.#byArchive();
    if (this.#mustRepeat) return;
    this.#lookedThroughAtMs = this.#now();
    if (!keepsLeases(this.#warm)) return;
    await this.#warm.lease(lookedThrough, this.#holder, 0);
    await this.#warm.lease(lookedThrough, lookedThrough, lookThroughMs);
  }

  /** Asks the warm tier about each archived thread. That is costly, but needed each time if the warm tier can't list tombstones. */
  async *#byArchive(): AsyncGenerator<DueDeletion> {
    for await (const thread of this.#cold.threads({ onDamaged: this.#onDamaged })) {
      const due = await this.#orTold(() => this.#dueOf(thread));
      if (due !== undefined) yield due;
    }
  }

  /** Asks the warm tier about an archived thread. */
  async #dueOf({ threadId, head }: Pick<ThreadInfo, "threadId" | "head">): Promise<DueDeletion | undefined> {
    // Ask the archive first: the warm tier has a life before the archive has it, and until the thread is deleted.
    const copy = await this.#cold.peek({ threadId, namespace: lifeOf });
    const owner = await this.#warm.peek({ threadId, namespace: "" });
    // Revision 0 means that the warm tier has never had the thread. Its database may be new or lost, so keep the archive.
    if (owner.revision === 0) return undefined;
    if (!this.#orLeft(threadId, await mayHaveGiven(this.#warm, copy.head))) return undefined;
    if (owner.head === undefined && (head ?? copy.head) !== undefined) {
      // A deletion removes the mark, too: a thread that has it, and no head, has lost its head.
      const { head: mark } = await this.#warm.peek({ threadId, namespace: archivedMark });
      return mark === undefined ? { why: "deleted", threadId, leftAt: copy.revision } : undefined;
    }
    const isOver =
      owner.head !== undefined && copy.head !== undefined && (await this.#isOver(threadId, copy.head));
    return isOver ? { why: "deleted", threadId, leftAt: copy.revision } : undefined;
  }

  /** Whether a life that the archive has is over, because the thread was deleted and has begun anew. */
  async #isOver(threadId: string, life: string): Promise<boolean> {
    const { head } = await this.#warm.peek({ threadId, namespace: lifeOf });
    if (head === life) return false;
    // What an archived thread relies on isn't over: it is in another archive than this one.
    if ((await this.#warm.peek({ threadId, namespace: archivedMark })).head !== undefined) return false;
    return await wasDeleted(this.#warm, threadId, life);
  }

  /** Traces that what the archive has of a thread is left there, because it is of another database. @returns `isOurs` */
  #orLeft(threadId: string, isOurs: boolean): boolean {
    if (!isOurs)
      trace({ type: "maintenance", what: "left in archive", threadId, data: { tier: this.#cold.name } });
    return isOurs;
  }

  /** Whether what the archive has is of the life that the warm tier has, or of one that it gave and doesn't rely on any more. */
  async #mayExpire({ threadId }: ThreadInfo): Promise<boolean> {
    const { head } = await this.#warm.peek({ threadId, namespace: lifeOf });
    const { whose, life } = await whoseCopy(this.#warm, this.#cold, threadId, head);
    if (whose !== "other") return true;
    const mark = await this.#warm.peek({ threadId, namespace: archivedMark });
    const isOurs = mark.head === undefined && (await hasGiven(this.#warm, life)) === true;
    return this.#orLeft(threadId, isOurs);
  }

  /** Lists the archive. That is costly, so it is done at most a hundred times within `deleteArchivedAfter`. */
  async *#expired(): AsyncGenerator<DueDeletion> {
    if (this.#deleteArchivedAfterMs === undefined) return;
    const now = this.#now();
    if (now - this.#expiryLookedAtMs < this.#deleteArchivedAfterMs / 100) return;
    for await (const thread of this.#cold.threads({
      writtenBeforeMs: now - this.#deleteArchivedAfterMs,
      onDamaged: this.#onDamaged,
    }))
      if ((await this.#orTold(() => this.#mayExpire(thread))) === true)
        yield { why: "expired", threadId: thread.threadId, leftAt: thread.revision };
    if (!this.#mustRepeat) this.#expiryLookedAtMs = now;
  }
}
