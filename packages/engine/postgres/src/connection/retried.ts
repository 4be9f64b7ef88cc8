import { trace } from "@stratigraph/core/internal";
import { explainPostgresError } from "./explainPostgresError.ts";
import { isTimeout } from "./failures.ts";

/** First pause after a failure, and the longest, in milliseconds. */
const firstPauseMs = 25;
const longestPauseMs = 1000;

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/**
 * Repeats `work` after failures. Every statement of this package may be repeated: if only its acknowledgement was lost, it changes
 * nothing the second time, perhaps by other values (PgQuery.again).
 * @param work receives how many of its attempts timed out
 * @param patience for how long from the start of the first attempt a failure is repeated, in milliseconds; 0: not at all
 * @throws StratigraphError that explains the last failure
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
      if (Date.now() + wait > startedAt + forMs) throw explainPostgresError(error, tier, forMs);
      trace({ type: "retry", tier, attempt, forMs, error });
      await pause(wait);
    }
  }
}
