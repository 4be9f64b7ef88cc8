import type { ReplayResult } from "../jobs/replayTrace.ts";

/**
 * How many megabyte-hours a fixed time to live takes that has as many hits: between two measured ones on a logarithmic scale.
 * Undefined where none of the measured ones has as many, or all of them have more.
 * @param fixed results of fixed times, shortest first
 */
export function takenByFixed(
  fixed: readonly Pick<ReplayResult, "hits" | "megabyteHours">[],
  hits: number,
): number | undefined {
  const after = fixed.findIndex((each) => each.hits >= hits);
  if (after <= 0) return undefined;
  const [low, high] = [fixed[after - 1]!, fixed[after]!];
  const share = (hits - low.hits) / (high.hits - low.hits);
  return low.megabyteHours * (high.megabyteHours / low.megabyteHours) ** share;
}
