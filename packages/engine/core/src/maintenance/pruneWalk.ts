import type { CheckpointCoder } from "../encode/checkpointCoder.ts";
import type { KeepRule } from "../operations/keptCheckpoints.ts";
import type { Tier } from "../contract/tier.ts";
import type { Batch } from "./batch.ts";
import { pruneDue } from "./pruneDue.ts";
import type { ResolvedRetention } from "./retentionOptions.ts";
import { stepOf, type MaintenanceStep, type StepOutcome } from "./steps.ts";
import { WrittenThreads } from "./writtenThreads.ts";

/** How often all threads are looked at within the time `trimAfter`, because checkpoints may have reached that age. */
const looksPerAge = 100;

/**
 * Finds threads that have more checkpoints than are to stay. It looks only at threads that were written to since it last did.
 * It looks at all of them if a checkpoint that it saw has reached the age `trimAfter`, but at most once in a hundredth of that
 * time. So a maintenance that finds nothing due reads one page of threads.
 */
export class PruneWalk {
  readonly #coder: CheckpointCoder;
  readonly #tier: Tier;
  readonly #keepLast: number | undefined;
  readonly #trimAfterMs: number | undefined;
  readonly #now: () => number;
  readonly #written: WrittenThreads;
  /** When the last pass through all threads began. */
  #allFromMs = Number.NEGATIVE_INFINITY;
  /** When the first checkpoint seen since then reaches the age `trimAfter`. */
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
   * A step for each thread that has checkpoints to prune.
   * @param work prunes one; undefined if the thread keeps all its checkpoints after all
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
    // A pass under way isn't begun anew: one that takes longer than the time between two passes would never end.
    if (this.#trimAfterMs === undefined || now < this.#nextDueMs || this.#written.isUnderWay) return;
    if (now < this.#allFromMs + this.#trimAfterMs / looksPerAge) return;
    this.#written.startAnew();
    this.#allFromMs = now;
    this.#nextDueMs = Number.POSITIVE_INFINITY;
  }
}
