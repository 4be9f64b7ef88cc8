import { uuid5 } from "@langchain/langgraph-checkpoint";
import type { CheckpointCoder } from "./checkpointCoder.ts";
import type { CheckpointRecord, StoredWriteBatch } from "./tier.ts";
import { exitTaskId, nullTaskId } from "./writers.ts";

const ERROR = "__error__";
const INTERRUPT = "__interrupt__";
const RESUME = "__resume__";

/**
 * Which pending writes of a step that went on since count when it is wound back: those from before any of its interrupts
 * was answered. So an interrupt waits again, and tasks that ended by then don't run again. Errors, an answer, what came of it, and
 * what wasn't written by the step's tasks (new input, `updateState`, commands) stay behind. Where nothing asked, the step
 * runs again, with no writes.
 *
 * @param batches those that count now, oldest first
 */
export async function firstAsked(
  coder: CheckpointCoder,
  record: CheckpointRecord,
  batches: readonly StoredWriteBatch[],
): Promise<readonly StoredWriteBatch[]> {
  const channels = await Promise.all(batches.map((batch) => coder.writes.channels(record, [batch])));
  const asked = new Map<string, number>();
  for (const [index, { taskId }] of batches.entries())
    if (channels[index]!.has(INTERRUPT) && !asked.has(taskId)) asked.set(taskId, index);
  if (asked.size === 0) return [];
  const answered = channels.findIndex((written) => written.has(RESUME));
  const before = answered === -1 ? batches : batches.slice(0, answered);
  const others = outsiders(record.checkpointId, batches.length);
  return before.filter(({ taskId }, index) => {
    if (index > (asked.get(taskId) ?? index) || channels[index]!.has(ERROR)) return false;
    return !others.has(taskId) && !exitTaskId.test(taskId);
  });
}

/** Ids under which LangGraph writes to a checkpoint what none of its tasks wrote. */
function outsiders(checkpointId: string, updates: number): Set<string> {
  const named = ["__input__", "__interrupt__"];
  // Updates made at once are numbered.
  for (let n = 1; n < updates; n += 1) named.push(`__interrupt__:${n}`);
  return new Set([nullTaskId, ...named.map((name) => uuidOf(name, checkpointId))]);
}

/** As LangGraph makes it; a checkpoint id that is no UUID was made by none of its graphs, and nor were such tasks. */
function uuidOf(name: string, checkpointId: string): string {
  try {
    return uuid5(name, checkpointId);
  } catch {
    return "";
  }
}
