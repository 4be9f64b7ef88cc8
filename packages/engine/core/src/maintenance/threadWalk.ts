import type { ThreadInfo, ThreadQuery, Tier } from "../contract/tier.ts";
import type { Batch } from "./batch.ts";

type IdleQuery = Pick<ThreadQuery, "writtenBeforeMs" | "includeEvicted">;

/**
 * Threads of a query, least recently written first, a batch at a time. Each batch goes on where the previous one ended, and begins
 * again after the last thread, so that threads that fail again and again don't keep the others from their turn.
 */
export class ThreadWalk {
  readonly #tier: Tier;
  #after: ThreadInfo | undefined;

  constructor(tier: Tier) {
    this.#tier = tier;
  }

  /** The threads of the next batch, each once. A dry run begins with the first thread, and doesn't move the place to go on from. */
  async *next(query: IdleQuery, batch: Batch): AsyncGenerator<ThreadInfo> {
    const begin = batch.dryRun ? undefined : this.#after;
    const met = new Set<string>();
    for await (const thread of this.#from(begin, query, batch)) {
      met.add(thread.threadId);
      yield thread;
    }
    if (begin === undefined || batch.left === 0) return;
    for await (const thread of this.#from(undefined, query, batch)) {
      if (thread.writtenAtMs > begin.writtenAtMs || met.has(thread.threadId)) return;
      yield thread;
    }
  }

  async *#from(after: ThreadInfo | undefined, query: IdleQuery, batch: Batch): AsyncGenerator<ThreadInfo> {
    const { left: limit, onDamaged } = batch;
    let found = 0;
    for await (const thread of this.#tier.threads({ ...query, after, limit, onDamaged })) {
      if (!batch.take()) return;
      found += 1;
      if (!batch.dryRun) this.#after = thread;
      yield thread;
    }
    if (found < limit && !batch.dryRun) this.#after = undefined;
  }
}
