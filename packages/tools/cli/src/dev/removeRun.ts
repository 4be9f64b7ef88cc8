import { StratigraphError, type TierSaver } from "@stratigraph/core";
import { isArchivedElsewhere } from "@stratigraph/core/internal";

/**
 * Removes what a run has stored. A run is of one thread, so that threads in an archive that isn't open matter only if this is one.
 * @throws as `deleteForRuns`
 */
export async function removeRun(saver: TierSaver, threadId: string, runId: string): Promise<void> {
  try {
    await saver.deleteForRuns([runId]);
  } catch (error) {
    const isOfOthers =
      StratigraphError.is(error, "EVICTED") && !(await isArchivedElsewhere(saver.tier, threadId));
    if (!isOfOthers) throw error;
  }
}
