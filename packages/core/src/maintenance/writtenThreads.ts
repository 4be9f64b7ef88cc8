import type { ThreadInfo, Tier } from "../contract/tier.ts";
import type { Batch } from "./batch.ts";

/** How exactly tiers know when a thread was written, and how long a write may take to be seen. Milliseconds. */
const overlapMs = 120_000;
/** Threads remembered at most as looked at; those beyond are looked at once more. */
const remembered = 10_000;

/**
 * Threads written since they were last looked at. Goes through them newest first, as many passes as there are: a pass ends
 * where the last one began. Threads only ever move to the front, so none is missed; the next pass finds what moved. By the
 * tier's clock alone.
 */
export class WrittenThreads {
  readonly #tier: Tier;
  /** Of the pass under way: the thread it has come to, and the newest write when it began. */
  #after: ThreadInfo | undefined;
  #topMs: number | undefined;
  /** Threads written before this were looked at. */
  #floorMs = Number.NEGATIVE_INFINITY;
  /** Threads written so lately that the next pass meets them again, as they were when they were looked at. */
  readonly #looked = new Map<string, ThreadInfo>();
  /** Threads that failed and are to be tried again, though nobody may write to them. */
  readonly #owed = new Map<string, ThreadInfo>();

  constructor(tier: Tier) {
    this.#tier = tier;
  }

  /** Whether a pass has begun and not ended. */
  get isUnderWay(): boolean {
    return this.#after !== undefined;
  }

  /** The next pass goes through all threads. */
  startAnew(): void {
    this.#after = undefined;
    this.#topMs = undefined;
    this.#floorMs = Number.NEGATIVE_INFINITY;
    this.#looked.clear();
  }

  /** Threads to look at, as many as the batch allows; the next call goes on from there. A plan changes nothing about that. */
  async *next(batch: Batch): AsyncGenerator<ThreadInfo> {
    const owed = new Map(this.#owed);
    for await (const thread of this.#written(batch)) {
      owed.delete(thread.threadId);
      yield thread;
    }
    // Last, so that those that fail for good don't keep the others from their turn.
    for (const thread of owed.values()) {
      if (!batch.take()) return;
      if (!batch.dryRun) this.#owed.delete(thread.threadId);
      yield thread;
    }
  }

  async *#written(batch: Batch): AsyncGenerator<ThreadInfo> {
    if (batch.left === 0) return;
    let [after, topMs] = [this.#after, this.#topMs];
    for await (const thread of this.#tier.threads({ order: "newest", includeEvicted: false, after })) {
      topMs ??= thread.writtenAtMs;
      if (thread.writtenAtMs < this.#floorMs) break;
      if (this.#looked.get(thread.threadId)?.revision !== thread.revision) {
        if (!batch.take()) return;
        yield thread;
      }
      after = thread;
      if (!batch.dryRun) [this.#after, this.#topMs] = [after, topMs];
    }
    if (!batch.dryRun) this.#end(topMs);
  }

  /** The thread needs nothing as long as it stays at this revision. */
  isFine(thread: ThreadInfo): void {
    const topMs = this.#topMs ?? thread.writtenAtMs;
    if (thread.writtenAtMs >= topMs - overlapMs && this.#looked.size < remembered)
      this.#looked.set(thread.threadId, thread);
  }

  /** The thread's turn failed. */
  owe(thread: ThreadInfo): void {
    if (this.#owed.size < remembered) this.#owed.set(thread.threadId, thread);
  }

  #end(topMs: number | undefined): void {
    // Again from a little before: writes that ended together may be seen one after the other.
    if (topMs !== undefined) this.#floorMs = Math.max(this.#floorMs, topMs - overlapMs);
    this.#after = undefined;
    this.#topMs = undefined;
    for (const [threadId, { writtenAtMs }] of this.#looked)
      if (writtenAtMs < this.#floorMs) this.#looked.delete(threadId);
  }
}
