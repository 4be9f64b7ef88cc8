import { dropLoose } from "../operations/dropLoose.ts";
import type { Batch } from "./batch.ts";
import type { RetentionParts } from "./retention.ts";
import { stepOf, type MaintenanceStep, type MaintenanceTask } from "./steps.ts";
import { WrittenThreads } from "./writtenThreads.ts";

/** Removes values of best-effort channels from threads that weren't written to for `bestEffortFor`. */
export function evictLooseTask({ tier, retention, now }: RetentionParts): MaintenanceTask {
  const { bestEffortMs } = retention;
  const written = new WrittenThreads(tier);
  return async function* evictLoose(batch: Batch): AsyncGenerator<MaintenanceStep | undefined> {
    if (bestEffortMs === undefined) return;
    for await (const thread of written.next(batch)) {
      const { threadId } = thread;
      // It is looked at again until it is old enough.
      if (thread.writtenAtMs > now() - bestEffortMs) {
        if (!batch.dryRun) written.owe(thread);
        yield undefined;
        continue;
      }
      let isNeeded = true;
      const step = await stepOf({ what: "evict", threadId }, async () => {
        const { values, freed, done } = await dropLoose(tier, threadId, batch);
        isNeeded = values > 0;
        return { freed, done };
      });
      if (!isNeeded) written.isFine(thread);
      else if (!step.done && !batch.dryRun) written.owe(thread);
      yield isNeeded ? step : undefined;
    }
  };
}
