import { ERROR, INTERRUPT, RESUME } from "@langchain/langgraph-checkpoint";
import {
  currentWrites,
  NULL_TASK,
  type DecodedWrite,
  type StoredCheckpoint,
  type TierSaver,
} from "@stratigraph/core";
import { ERROR_SOURCE } from "./langgraph.ts";

/** What keeps a step from going on. */
export interface Stops {
  /** A task waits for an answer. */
  readonly waits: boolean;
  /** The error of the task that failed, where none waits. */
  readonly failed: DecodedWrite | undefined;
}

/** Channels among pending writes that are no task's output. */
const notOutput: ReadonlySet<string> = new Set([ERROR, ERROR_SOURCE, INTERRUPT, RESUME]);

/**
 * Whether the tasks of a checkpoint's step wait or failed. A task stands as its last batch left it: it asked (an
 * `__interrupt__`, one per question or all in one, perhaps with the answers that it was given to earlier questions), it failed, or
 * it has ended, which settles both. An answer that was given and didn't lead to anything yet leaves it waiting.
 */
export async function stopsOf(saver: TierSaver, stored: StoredCheckpoint): Promise<Stops> {
  const { record, blobs } = stored;
  const left = new Map<string, "asked" | "failed" | "ended">();
  let failed: DecodedWrite | undefined;
  for (const batch of currentWrites(stored.writes)) {
    const { taskId } = batch;
    if (taskId === NULL_TASK) continue;
    const channels = [...(await saver.coder.writes.channels(record, [batch]))];
    if (channels.includes(ERROR)) {
      left.set(taskId, "failed");
      [failed] = await saver.coder.writes.decode(record, [batch], blobs, { channels: new Set([ERROR]) });
    } else if (channels.some((channel) => !notOutput.has(channel))) left.set(taskId, "ended");
    else if (channels.includes(INTERRUPT)) left.set(taskId, "asked");
  }
  const all = new Set(left.values());
  return { waits: all.has("asked"), failed: all.has("failed") ? failed : undefined };
}
