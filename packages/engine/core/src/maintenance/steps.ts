import type { Batch } from "./batch.ts";

/** What was done, or would be in a dry run, with one thread or one tier. */
export interface MaintenanceStep {
  /**
   * - "delete": deletes a thread because of its age
   * - "prune": deletes checkpoints of a thread for good
   * - "archive": moves a thread to the cold tier
   * - "trim": moves checkpoints of a thread to the cold tier
   * - "finish-deletion": deletes the archive of a thread that was deleted
   * - "evict": removes values of best-effort channels of a thread
   * - "sweep": removes what crashes and deletions left in a tier
   */
  readonly what: "delete" | "prune" | "archive" | "trim" | "finish-deletion" | "evict" | "sweep";
  /** Absent for a sweep. */
  readonly threadId?: string | undefined;
  /** Name of the tier that was swept. */
  readonly tier?: string | undefined;
  /** Checkpoints pruned, or copied to the cold tier. */
  readonly checkpoints?: number | undefined;
  /** Bytes copied to the cold tier, counted as the warm tier stores them. */
  readonly bytes?: number | undefined;
  /** Stored bytes that a prune or an eviction freed, or would free. */
  readonly freed?: number | undefined;
  /** How many things a sweep removed. */
  readonly swept?: number | undefined;
  /** False in a dry run, after an error, and if the thread was written to meanwhile and stays. */
  readonly done: boolean;
  /** Why it failed; the next maintenance tries again. */
  readonly error?: unknown;
}

/** Answer of `maintain`. */
export interface MaintenanceReport {
  /** False if another process, or another call, was running maintenance. */
  readonly ran: boolean;
  readonly steps: readonly MaintenanceStep[];
  /** Sum of the steps' bytes. */
  readonly bytes: number;
}

/**
 * One kind of maintenance. Yields a step for each thread, and undefined for a thread that was looked at and needs nothing, so
 * that there is a pause after looking, too. May be ended after any of them; the next maintenance goes on.
 */
export type MaintenanceTask = (batch: Batch) => AsyncIterable<MaintenanceStep | undefined>;

/** What the work of a step reports. */
export type StepOutcome = Partial<
  Pick<MaintenanceStep, "checkpoints" | "bytes" | "freed" | "swept" | "done">
>;

/** Runs the work of one step. A failure is reported in the step, and ends neither the task nor the batch. */
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
