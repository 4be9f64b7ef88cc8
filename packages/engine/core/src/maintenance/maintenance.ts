import type { Tier } from "../contract/tier.ts";
import { trace } from "../contract/trace.ts";
import { Batch } from "./batch.ts";
import { inTurns, isDown } from "./inTurns.ts";
import type { MaintainOptions } from "./maintainOptions.ts";
import type { MaintenanceReport, MaintenanceStep, MaintenanceTask } from "./steps.ts";

/** How much one maintenance does, and how long it rests in between. */
export interface MaintenancePace {
  /** How many threads are looked at or changed at most. */
  readonly maxThreads: number;
  /** Shortest rest after each thread, in milliseconds; 0 is none. */
  readonly pauseMs: number;
}

/** Runs the tasks of a saver's maintenance, one batch at a time, in one process at a time. */
export class Maintenance {
  readonly #tier: Tier;
  readonly #tasks: readonly MaintenanceTask[];
  readonly #pace: MaintenancePace;
  #isRunning = false;

  /** @param tier keeps the lease, if it can */
  constructor(tier: Tier, tasks: readonly MaintenanceTask[], pace: MaintenancePace) {
    this.#tier = tier;
    this.#tasks = tasks;
    this.#pace = pace;
  }

  /**
   * Runs one batch. If the process dies at any point, nothing is lost or done twice, and the next batch goes on.
   * @param background `keepsAlive` false: the rests don't keep the process alive
   */
  async run(
    { dryRun = false, signal }: MaintainOptions,
    { keepsAlive = true } = {},
  ): Promise<MaintenanceReport> {
    if (dryRun) return reportOf(await inTurns(this.#steps(true), { tier: this.#tier, pauseMs: 0, signal }));
    // Tiers that keep no leases would let two calls in this process work at once.
    if (this.#isRunning) return reportOf(undefined);
    this.#isRunning = true;
    try {
      const turns = {
        tier: this.#tier,
        lease: "maintenance",
        pauseMs: this.#pace.pauseMs,
        signal,
        keepsAlive,
      };
      return reportOf(await inTurns(this.#steps(false), { ...turns, onStep: traceStep, isLast }));
    } finally {
      this.#isRunning = false;
    }
  }

  async *#steps(dryRun: boolean): AsyncGenerator<MaintenanceStep | undefined> {
    const batch = new Batch(this.#pace.maxThreads, dryRun);
    for (const task of this.#tasks) yield* task(batch);
    for (const error of batch.damaged.values()) yield { what: "sweep", done: false, error };
  }
}

/** A tier that can't be swept now is swept the next time, and doesn't end the maintenance of the others. */
function isLast({ what, error }: MaintenanceStep): boolean {
  return what !== "sweep" && isDown(error);
}

function traceStep({ what, threadId, ...data }: MaintenanceStep): void {
  trace({ type: "maintenance", what, threadId, data });
}

function reportOf(steps: readonly MaintenanceStep[] | undefined): MaintenanceReport {
  const taken = steps ?? [];
  const bytes = taken.reduce((sum, step) => sum + (step.bytes ?? 0), 0);
  return { ran: steps !== undefined, steps: taken, bytes };
}
