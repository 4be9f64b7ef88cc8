import type { Batch } from "./batch.ts";

/** What was done, or would be, with one thread, or with one tier. */
export interface MaintenanceStep {
  /**
   * - "delete": a thread, because of its age
   * - "prune": checkpoints of a thread are gone for good
   * - "archive": a thread moved to the cold tier
   * - "trim": checkpoints of a thread moved to the cold tier
   * - "finish-deletion": the archive of a thread that was deleted
   * - "sweep": what crashes and deletions left in a tier
   */
  readonly what: "delete" | "prune" | "archive" | "trim" | "finish-deletion" | "sweep";
  /** Absent for a sweep. */
  readonly threadId?: string | undefined;
  /** Name of the tier that was swept. */
  readonly tier?: string | undefined;
  /** Checkpoints pruned, or copied to the cold tier. */
  readonly checkpoints?: number | undefined;
  /** Bytes copied to the cold tier, as they are in the warm one. */
  readonly bytes?: number | undefined;
  /** Things that a sweep took away. */
  readonly swept?: number | undefined;
  /** False where the thread was written to meanwhile, and stays. */
  readonly done: boolean;
  /** Why it failed; the next maintenance tries again. */
  readonly error?: unknown;
}

/** Answer of `maintain`. */
export interface MaintenanceReport {
  /** False where another process, or another call, was at it. */
  readonly ran: boolean;
  readonly steps: readonly MaintenanceStep[];
  /** Sum of the steps' bytes. */
  readonly bytes: number;
}

/**
 * One kind of maintenance. Yields a step per thread, and undefined for a thread that was looked at and needs nothing, so that
 * looking is paused after, too. May be ended after any of them; the next maintenance goes on.
 */
export type MaintenanceTask = (batch: Batch) => AsyncIterable<MaintenanceStep | undefined>;

/** What a step tells about the work that was done in it. */
export type StepOutcome = Partial<Pick<MaintenanceStep, "checkpoints" | "bytes" | "swept" | "done">>;

/** Runs the work of one step. Its failure is told, and ends neither the task nor the batch. */
export async function stepOf(
  step: Pick<MaintenanceStep, "what" | "threadId" | "tier">,
  work: () => Promise<StepOutcome>,
): Promise<MaintenanceStep> {
  try {
    return { ...step, done: true, ...(await work()) };
  } catch (error) {
    return { ...step, done: false, error: error instanceof Error ? error : new Error(String(error)) };
  }
}
