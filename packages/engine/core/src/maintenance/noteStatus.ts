import { keepsStatus } from "../contract/tierExtensions.ts";
import { statusAt } from "../operations/taskStates.ts";
import type { ThreadInfo } from "../contract/tier.ts";
import type { Batch } from "./batch.ts";
import type { RetentionParts } from "./retention.ts";
import { stepOf, type MaintenanceStep, type MaintenanceTask } from "./steps.ts";

/** How many threads are looked at in one batch at most. */
const mostNoted = 1000;

/**
 * Notes how threads stand of which the tier doesn't know it, so that listThreads({ status }) needn't read them: those that older versions
 * wrote, and those that were copied, forked, or set back, and weren't written to since.
 */
export function noteStatusTask({ tier, coder }: RetentionParts): MaintenanceTask {
  let after: ThreadInfo | undefined;
  return async function* noteStatus({ dryRun }: Batch): AsyncGenerator<MaintenanceStep | undefined> {
    if (dryRun || !keepsStatus(tier)) return;
    const query = {
      status: "unknown",
      order: "oldest",
      after,
      limit: mostNoted,
      onDamaged: () => {},
    } as const;
    // One whose status can't be found out mustn't keep those behind it from being looked at.
    after = undefined;
    for await (const thread of tier.threads(query)) {
      const { threadId, revision, head } = thread;
      after = thread;
      const step = await stepOf({ what: "sweep", threadId }, async () => {
        const status = await statusAt({ tier, coder }, threadId, head);
        return { done: status === undefined || (await tier.noteStatus(threadId, revision, status)) };
      });
      yield step.error === undefined ? undefined : step;
    }
  };
}
