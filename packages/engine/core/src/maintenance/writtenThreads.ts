import type { ThreadInfo, Tier } from "../contract/tier.ts";
import type { Batch } from "./batch.ts";

/** By how much two writes may be seen in the wrong order: tiers round their times, and a write takes time to be seen. Milliseconds. */
const overlapMs = 120_000;
/** How many threads are remembered as looked at, at most. Any others are looked at once more. */
const remembered = 10_000;

/**
 * Threads written to since they were last looked at. Goes through them in passes, newest first: each pass ends where the previous
 * one began. A thread that is written to moves to the front, so none is missed: the next pass finds it. Relies on the clock of
 * the tier alone.
 */
export class WrittenThreads {
  readonly #tier: Tier;
  /** The last thread that the pass under way went through; and the time of the newest write when the pass began. */
  #after: ThreadInfo | undefined;
  #topMs: number | undefined;
  /** All threads last written before this have been looked at. */
  #floorMs = Number.NEGATIVE_INFINITY;
  /** Threads, as they were when they were looked at, that were written so recently that the next pass meets them again. */
  readonly #looked = new Map<string, ThreadInfo>();
  /** Threads that failed and are tried again, even if nobody writes to them. */
  readonly #owed = new Map<string, ThreadInfo>();

  constructor(tier: Tier) {
    this.#tier = tier;
  }

  /** Whether a pass has begun and not ended. */
  get isUnderWay(): boolean {
    return this.#after !== undefined;
  }

  /** Makes the next pass go through all threads. */
  startAnew(): void {
    this.#after = undefined;
    this.#topMs = undefined;
    this.#floorMs = Number.NEGATIVE_INFINITY;
    this.#looked.clear();
  }

  /** Threads to look at, as many as the batch allows. The next call goes on from there, except after a dry run. */
  async *next(batch: Batch): AsyncGenerator<ThreadInfo> {
    const owed = new Map(this.#owed);
    for await (const thread of this.#written(batch)) {
      owed.delete(thread.threadId);
      yield thread;
    }
    // These come last, so that threads that always fail don't keep the others from their turn.
    for (const thread of owed.values()) {
      if (!batch.take()) return;
      if (!batch.dryRun) this.#owed.delete(thread.threadId);
      yield thread;
    }
  }

  async *#written(batch: Batch): AsyncGenerator<ThreadInfo> {
    if (batch.left === 0) return;
    let [after, topMs] = [this.#after, this.#topMs];
    const { onDamaged } = batch;
    const query = { order: "newest", includeEvicted: false, after, onDamaged } as const;
    for await (const thread of this.#tier.threads(query)) {
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

  /** Notes that the thread needs nothing as long as it stays at this revision. */
  isFine(thread: ThreadInfo): void {
    const topMs = this.#topMs ?? thread.writtenAtMs;
    if (thread.writtenAtMs >= topMs - overlapMs && this.#looked.size < remembered)
      this.#looked.set(thread.threadId, thread);
  }

  /** Notes that the work on a thread failed, so that it is tried again. */
  owe(thread: ThreadInfo): void {
    if (this.#owed.size < remembered) this.#owed.set(thread.threadId, thread);
  }

  #end(topMs: number | undefined): void {
    // The next pass goes a little further back, because writes may be seen later than newer ones.
    if (topMs !== undefined) this.#floorMs = Math.max(this.#floorMs, topMs - overlapMs);
    this.#after = undefined;
    this.#topMs = undefined;
    for (const [threadId, { writtenAtMs }] of this.#looked)
      if (writtenAtMs < this.#floorMs) this.#looked.delete(threadId);
  }
}
