import { trace } from "@stratigraph/core";
import { explained } from "./explained.ts";
import { isTimeout } from "./failure.ts";

/** First pause after a failure, and the longest, in milliseconds. */
const firstPauseMs = 25;
const longestPauseMs = 1000;

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/**
 * Repeats `work`, which is told how often it ran out of time. Every statement of this package may be repeated: one whose
 * acknowledgement was lost changes nothing the second time.
 * @param patience for how long after the first attempt began a failure is repeated, in milliseconds; 0: not at all
 * @throws StratigraphError with what a failure means that isn't repeated any more
 */
export async function retried<T>(
  tier: string,
  work: (timeouts: number) => Promise<T>,
  patience: (error: unknown) => number,
): Promise<T> {
  const startedAt = Date.now();
  let timeouts = 0;
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await work(timeouts);
    } catch (error) {
      if (isTimeout(error)) timeouts += 1;
      const forMs = patience(error);
      const wait = Math.min(longestPauseMs, firstPauseMs * 2 ** (attempt - 1)) * (0.5 + Math.random() / 2);
      if (Date.now() + wait > startedAt + forMs) throw explained(error, tier, forMs);
      trace({ type: "retry", tier, attempt, error });
      await pause(wait);
    }
  }
}
