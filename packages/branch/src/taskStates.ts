import { ERROR, INTERRUPT, RESUME } from "@langchain/langgraph-checkpoint";
import {
  NULL_TASK,
  currentWrites,
  type DecodedWrite,
  type StoredCheckpoint,
  type TierSaver,
} from "@stratigraph/core";
import { ERROR_SOURCE } from "./langgraph.ts";

/** What keeps the step of a checkpoint from continuing. */
export interface TaskStates {
  /** Whether a task waits for an answer to an interrupt. */
  readonly interrupted: boolean;
  /** The error that the last failed task wrote. */
  readonly failed: DecodedWrite | undefined;
}

/** Channels of pending writes that aren't the output of a task. */
const notOutput: ReadonlySet<string> = new Set([ERROR, ERROR_SOURCE, INTERRUPT, RESUME]);

/**
 * Whether tasks of a checkpoint's step wait for an answer, or failed. The last batch that a task wrote shows its state: it interrupted
 * (an `__interrupt__` for each question or for all, perhaps with the answers to earlier questions), it failed, or it ended. A task whose
 * question was answered but which has written nothing since counts as waiting.
 */
export async function taskStates(saver: TierSaver, stored: StoredCheckpoint): Promise<TaskStates> {
  const { record, blobs } = stored;
  const states = new Map<string, "interrupted" | "failed" | "ended">();
  let failed: DecodedWrite | undefined;
  for (const batch of currentWrites(stored.writes)) {
    const { taskId } = batch;
    if (taskId === NULL_TASK) continue;
    const channels = [...(await saver.coder.writes.channels(record, [batch]))];
    if (channels.includes(ERROR)) {
      states.set(taskId, "failed");
      [failed] = await saver.coder.writes.decode(record, [batch], blobs, { channels: new Set([ERROR]) });
    } else if (channels.some((channel) => !notOutput.has(channel))) states.set(taskId, "ended");
    else if (channels.includes(INTERRUPT)) states.set(taskId, "interrupted");
  }
  const all = new Set(states.values());
  return { interrupted: all.has("interrupted"), failed: all.has("failed") ? failed : undefined };
}
