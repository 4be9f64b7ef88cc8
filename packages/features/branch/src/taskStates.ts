import { ERROR, INTERRUPT, RESUME } from "@langchain/langgraph-checkpoint";
import type { TierSaver } from "@stratigraph/core";
import { NULL_TASK, currentWrites } from "@stratigraph/core/internal";
import type { ListedCheckpoint, StoredWriteBatch } from "@stratigraph/core/tier";
import { ERROR_SOURCE } from "./langgraph.ts";

/** What keeps the step of a checkpoint from continuing. */
export interface TaskStates {
  /** Whether a task waits for an answer to an interrupt. */
  readonly interrupted: boolean;
  /** The ids of the tasks that do. */
  readonly waiting: ReadonlySet<string>;
  /** What the last failed task wrote, its error among it. */
  readonly failed: StoredWriteBatch | undefined;
}

/** Channels of pending writes that aren't the output of a task. */
const notOutput: ReadonlySet<string> = new Set([ERROR, ERROR_SOURCE, INTERRUPT, RESUME]);

/**
 * Whether tasks of a checkpoint's step wait for an answer, or failed. The last batch that a task wrote shows its state: it interrupted
 * (an `__interrupt__` for each question or for all, perhaps with the answers to earlier questions), it failed, or it ended. A task whose
 * question was answered but which has written nothing since counts as waiting.
 */
export async function taskStates(
  saver: TierSaver,
  { record, writes }: Pick<ListedCheckpoint, "record" | "writes">,
): Promise<TaskStates> {
  const states = new Map<string, "interrupted" | "failed" | "ended">();
  let failed: StoredWriteBatch | undefined;
  for (const batch of currentWrites(writes)) {
    const { taskId } = batch;
    if (taskId === NULL_TASK) continue;
    const channels = [...(await saver.coder.writes.channels(record, [batch]))];
    if (channels.includes(ERROR)) {
      states.set(taskId, "failed");
      failed = batch;
    } else if (channels.some((channel) => !notOutput.has(channel))) states.set(taskId, "ended");
    else if (channels.includes(INTERRUPT)) states.set(taskId, "interrupted");
  }
  const all = new Set(states.values());
  const waiting = new Set([...states].flatMap(([id, state]) => (state === "interrupted" ? [id] : [])));
  return { interrupted: waiting.size > 0, waiting, failed: all.has("failed") ? failed : undefined };
}
