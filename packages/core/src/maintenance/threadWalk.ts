import type { ThreadInfo, ThreadQuery, Tier } from "../tier.ts";
import type { Batch } from "./batch.ts";

/**
 * Threads of a query, least recently written first, a batch at a time. Each batch goes on where the last one ended, so that
 * threads whose turn fails again and again don't keep the others from theirs.
 */
export class ThreadWalk {
  readonly #tier: Tier;
  #after: ThreadInfo | undefined;

  constructor(tier: Tier) {
    this.#tier = tier;
  }

  /** A plan begins at the beginning, and changes nothing about where the next batch goes on. */
  async *next(
    query: Pick<ThreadQuery, "writtenBeforeMs" | "includeEvicted">,
    batch: Batch,
  ): AsyncGenerator<ThreadInfo> {
    const limit = batch.left;
    let found = 0;
    const after = batch.dryRun ? undefined : this.#after;
    for await (const thread of this.#tier.threads({ ...query, after, limit })) {
      if (!batch.take()) return;
      found += 1;
      if (!batch.dryRun) this.#after = thread;
      yield thread;
    }
    if (found < limit && !batch.dryRun) this.#after = undefined;
  }
}
