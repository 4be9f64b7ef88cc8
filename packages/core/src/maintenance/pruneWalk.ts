import type { CheckpointCoder } from "../encode/checkpointCoder.ts";
import type { KeepRule } from "../operations/keptCheckpoints.ts";
import type { Tier } from "../contract/tier.ts";
import type { Batch } from "./batch.ts";
import { pruneDue } from "./pruneDue.ts";
import type { ResolvedRetention } from "./retentionOptions.ts";
import { stepOf, type MaintenanceStep, type StepOutcome } from "./steps.ts";
import { WrittenThreads } from "./writtenThreads.ts";

/** Threads whose checkpoints may only have come of age are looked at so often in the time after which these go. */
const looksPerAge = 100;

/**
 * Finds threads that have more checkpoints than are to stay. Asks only about threads that were written since, and, once in
 * a hundredth of `trimAfter` at most, about all of them, if a checkpoint that was seen has come of age. So a maintenance
 * that finds nothing due costs one page of threads.
 */
export class PruneWalk {
  readonly #coder: CheckpointCoder;
  readonly #tier: Tier;
  readonly #keepLast: number | undefined;
  readonly #trimAfterMs: number | undefined;
  readonly #now: () => number;
  readonly #written: WrittenThreads;
  /** When all threads were last begun to be looked at. */
  #allFromMs = Number.NEGATIVE_INFINITY;
  /** When the first of what was seen since comes of age. */
  #nextDueMs = Number.POSITIVE_INFINITY;

  /** @param now the time in milliseconds since 1970 */
  constructor(tier: Tier, coder: CheckpointCoder, retention: ResolvedRetention, now: () => number) {
    this.#tier = tier;
    this.#coder = coder;
    this.#keepLast = retention.keepLast;
    this.#trimAfterMs = retention.trimAfterMs;
    this.#now = now;
    this.#written = new WrittenThreads(tier);
  }

  /**
   * A step per thread that has something to lose.
   * @param work undefined where the thread keeps all, after all
   */
  async *steps(
    batch: Batch,
    what: "prune" | "trim",
    work: (threadId: string, rule: KeepRule) => Promise<StepOutcome | undefined>,
  ): AsyncGenerator<MaintenanceStep | undefined> {
    if (this.#keepLast === undefined && this.#trimAfterMs === undefined) return;
    if (!batch.dryRun) this.#startAnewIfDue();
    for await (const thread of this.#written.next(batch)) {
      const { threadId } = thread;
      let isNeeded = true;
      const step = await stepOf({ what, threadId }, async () => {
        const outcome = (await this.#isDue(threadId)) ? await work(threadId, this.#rule()) : undefined;
        isNeeded = outcome !== undefined;
        return outcome ?? {};
      });
      if (!isNeeded) this.#written.isFine(thread);
      if (step.error !== undefined && !batch.dryRun) this.#written.owe(thread);
      yield isNeeded ? step : undefined;
    }
  }

  #rule(): KeepRule {
    const fromMs = this.#trimAfterMs === undefined ? undefined : this.#now() - this.#trimAfterMs;
    return { keepLast: this.#keepLast ?? 1, fromMs };
  }

  async #isDue(threadId: string): Promise<boolean> {
    const ages = { keepLast: this.#keepLast ?? 1, trimAfterMs: this.#trimAfterMs };
    const { isDue, nextDueMs } = await pruneDue(this.#tier, this.#coder, threadId, ages, this.#now());
    this.#nextDueMs = Math.min(this.#nextDueMs, nextDueMs);
    return isDue;
  }

  #startAnewIfDue(): void {
    const now = this.#now();
    // A pass of more threads than fit into that time would never come to its end.
    if (this.#trimAfterMs === undefined || now < this.#nextDueMs || this.#written.isUnderWay) return;
    if (now < this.#allFromMs + this.#trimAfterMs / looksPerAge) return;
    this.#written.startAnew();
    this.#allFromMs = now;
    this.#nextDueMs = Number.POSITIVE_INFINITY;
  }
}
