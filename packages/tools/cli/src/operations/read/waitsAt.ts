import type { TierSaver } from "@stratigraph/core";
import { taskStates, type TaskStates } from "@stratigraph/core/internal";
import type { ListedCheckpoint } from "@stratigraph/core/tier";
import { z } from "zod";

/** See {@link waitsAt}. */
export const waits = z
  .enum(["interrupt", "error"])
  .optional()
  .describe(
    "What stopped a task of the next step: a question that waits for an answer, or an error that no retry has overcome.",
  );

/**
 * What keeps the step that follows a checkpoint from ending: a task that waits for an answer, or else one that failed. At a thread's
 * newest root checkpoint it says what the thread's status says: "waiting" or "failed". A question waits only at the head or on a side branch, which may be promoted;
 * elsewhere the thread has gone on from it.
 */
export async function waitsAt(
  saver: TierSaver,
  listed: Pick<ListedCheckpoint, "record" | "writes" | "head">,
): Promise<{ waits?: "interrupt" | "error" }> {
  return waitsBy(await taskStates(saver, listed), listed);
}

/** {@link waitsAt}, where it is known how the tasks stand. */
export function waitsBy(
  { waiting, failed }: Pick<TaskStates, "waiting" | "failed">,
  { record, head }: Pick<ListedCheckpoint, "record" | "head">,
): { waits?: "interrupt" | "error" } {
  const isEnd = head === record.checkpointId || record.lostTo !== undefined;
  if (waiting.size > 0 && isEnd) return { waits: "interrupt" };
  return failed === undefined ? {} : { waits: "error" };
}
