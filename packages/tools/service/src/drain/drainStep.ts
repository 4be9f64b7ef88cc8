import { endsWithin } from "@stratigraph/core/internal";

/** What one step of a shutdown did. */
export interface DrainStep {
  /**
   * - "balancer": waited until the load balancer has noticed that this process isn't ready
   * - "listeners": stopped listening, by `stopListening`
   * - "runs": waited for runs to end by themselves
   * - "abort": ended the runs that hadn't, by their signals
   * - "maintenance": stopped maintenance
   * - "copies": waited until the hot tiers had their copies
   * - "saver": ended the checkpointer, and with it its maintenance and connections
   * - "close": called a function in `close`
   */
  readonly step: "balancer" | "listeners" | "runs" | "abort" | "maintenance" | "copies" | "saver" | "close";
  /** The function's name in `close`. */
  readonly name?: string | undefined;
  /** "late": its time was up, and the shutdown went on. "failed": it threw. */
  readonly outcome: "done" | "late" | "failed";
  /** Milliseconds. */
  readonly ms: number;
  /** What it threw. */
  readonly error?: unknown;
  /** The same error as text: JSON shows an error as an empty object. */
  readonly why?: string | undefined;
}

/** Does one step in a limited time. A later result or error is ignored. Never rejects. @param limitMs milliseconds */
export async function drainStep(
  step: Pick<DrainStep, "step" | "name">,
  limitMs: number,
  work: () => unknown,
): Promise<DrainStep> {
  const beganMs = performance.now();
  const result = (rest: Pick<DrainStep, "outcome" | "error" | "why">): DrainStep => ({
    ...step,
    ...rest,
    ms: Math.round(performance.now() - beganMs),
  });
  try {
    return result({ outcome: (await endsWithin(limitMs, work)) ? "done" : "late" });
  } catch (error) {
    return result({ outcome: "failed", error, why: String(error) });
  }
}
