import type { CheckpointCoder } from "../encode/checkpointCoder.ts";
import { pruneThread } from "../operations/prune.ts";
import { type Tier } from "../contract/tier.ts";
import { deletesUnchanged } from "../contract/tierExtensions.ts";
import type { Batch } from "./batch.ts";
import { PruneWalk } from "./pruneWalk.ts";
import type { ResolvedRetention } from "./retentionOptions.ts";
import { stepOf, type MaintenanceStep, type MaintenanceTask } from "./steps.ts";
import { ThreadWalk } from "./threadWalk.ts";

/** What the tasks for deleting and pruning need. */
export interface RetentionParts {
  readonly tier: Tier;
  readonly coder: CheckpointCoder;
  readonly retention: ResolvedRetention;
  /** Called with each thread that lost checkpoints. */
  readonly forget: (threadId: string) => void;
  /** The time in milliseconds since 1970. */
  readonly now: () => number;
}

/**
 * Deletes threads that weren't written to for `deleteAfter`. A thread that is written to between the decision and the deletion
 * stays. Writers that come after the deletion get a ThreadDeletedError.
 */
export function deleteIdleTask({ tier, retention, forget, now }: RetentionParts): MaintenanceTask {
  const { deleteAfterMs } = retention;
  const walk = new ThreadWalk(tier);
  return async function* deleteIdle(batch: Batch): AsyncGenerator<MaintenanceStep> {
    if (deleteAfterMs === undefined || !deletesUnchanged(tier)) return;
    for await (const { threadId, revision } of walk.next({ writtenBeforeMs: now() - deleteAfterMs }, batch)) {
      yield await stepOf({ what: "delete", threadId }, async () => {
        if (batch.dryRun) return { done: false };
        const done = await tier.deleteUnchanged(threadId, revision);
        if (done) forget(threadId);
        return { done };
      });
    }
  };
}

/** Prunes threads in use. What is pruned is gone for good. */
export function pruneInUseTask({ tier, coder, retention, forget, now }: RetentionParts): MaintenanceTask {
  const walk = new PruneWalk(tier, coder, retention, now);
  return (batch) =>
    walk.steps(batch, "prune", async (threadId, rule) => {
      const pruned = await pruneThread(tier, coder, threadId, rule, { dryRun: batch.dryRun });
      if (pruned.checkpoints === 0) return undefined;
      if (!batch.dryRun) forget(threadId);
      return { checkpoints: pruned.checkpoints, freed: pruned.bytes, done: !batch.dryRun };
    });
}
