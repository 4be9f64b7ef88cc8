import { type Tier } from "../contract/tier.ts";
import { sweeps } from "../contract/tierExtensions.ts";
import type { Batch } from "./batch.ts";
import { stepOf, type MaintenanceStep, type MaintenanceTask } from "./steps.ts";

/** Anything younger than this stays, because a run under way may need it. Milliseconds. */
const olderThanMs = 86_400_000;
/** How often a tier is swept at most. Milliseconds. */
const everyMs = 3_600_000;

/**
 * Removes what crashed processes and deletions left in tiers. A tier that can't be swept doesn't stop the others, and is swept
 * the next time.
 * @param now the time in milliseconds since 1970
 */
export function sweepsTiers(tiers: readonly Tier[], now: () => number): MaintenanceTask {
  const sweptAtMs = new Map<Tier, number>();
  return async function* sweep({ dryRun }: Batch): AsyncGenerator<MaintenanceStep | undefined> {
    // A tier can't say what a sweep would remove.
    if (dryRun) return;
    for (const tier of tiers) {
      if (!sweeps(tier) || now() < (sweptAtMs.get(tier) ?? Number.NEGATIVE_INFINITY) + everyMs) continue;
      const step = await stepOf({ what: "sweep", tier: tier.name }, async () => ({
        swept: await tier.sweep(olderThanMs),
      }));
      if (step.done) sweptAtMs.set(tier, now());
      yield step.swept === 0 ? undefined : step;
    }
  };
}
