import { ERROR, RESUME } from "@langchain/langgraph-checkpoint";
import { lastOutcomes, mayRefuse, outcomeOf, type TaskOutcome } from "../contract/threadStatus.ts";
import type { StoredCheckpoint, StoredWriteBatch, Tier } from "../contract/tier.ts";
import type { CheckpointCoder } from "../encode/checkpointCoder.ts";
import type { OpenedBatch } from "../encode/pendingWrites.ts";
import { pendingBatches } from "../saver/chosenBatches.ts";
import { currentWrites } from "./currentWrites.ts";

/** What keeps the step of a checkpoint from continuing. */
export interface TaskStates {
  /** The ids of the tasks that wait for an answer. */
  readonly waiting: ReadonlySet<string>;
  /** What the last failed task wrote, its error among it. */
  readonly failed: StoredWriteBatch | undefined;
  /** What each pending batch says of its task, for `statusFrom`. */
  readonly outcomes: readonly TaskOutcome[];
}

/** What is read: a TierSaver has both. */
interface Reading {
  readonly tier: Pick<Tier, "list">;
  readonly coder: CheckpointCoder;
}

/**
 * How the tasks of a checkpoint's step stand, by their pending writes: what `statusFrom` makes of them is the thread's status, if the
 * checkpoint is its newest root. A task that failed because an answer didn't fit its question's schema still waits.
 * @throws CorruptionError; StratigraphError "KEY_MISSING", "KEY_UNAVAILABLE", "NEWER_FORMAT"
 */
export async function taskStates(
  reading: Reading,
  { record, writes }: Pick<StoredCheckpoint, "record" | "writes">,
): Promise<TaskStates> {
  const stored = currentWrites(writes);
  const opened = await reading.coder.writes.open(record, writes);
  const pending = new Set(pendingBatches(opened));
  const outcomes: TaskOutcome[] = [];
  const asked = new Map<string, OpenedBatch>();
  const failures = new Map<string, StoredWriteBatch>();
  for (const [place, batch] of opened.entries()) {
    if (!pending.has(batch)) continue;
    const { taskId } = batch;
    const question = asked.get(taskId);
    let outcome = outcomeOf(
      taskId,
      batch.writes.map(({ channel }) => channel),
    );
    if (outcome === "waiting") asked.set(taskId, batch);
    if (outcome === "failed") {
      failures.set(taskId, stored[place]!);
      if (question !== undefined && (await isRefusal(reading, record, question, batch))) outcome = "waiting";
    }
    outcomes.push([taskId, outcome]);
  }
  const last = [...lastOutcomes(outcomes)!];
  const tasks = (wanted: string) => last.flatMap(([taskId, outcome]) => (outcome === wanted ? [taskId] : []));
  const failed = new Set(tasks("failed"));
  return {
    waiting: new Set(tasks("waiting")),
    failed: [...failures].findLast(([taskId]) => failed.has(taskId))?.[1],
    outcomes,
  };
}

/** Whether a task failed because its last question's answer didn't fit: a task that takes an answer writes all that it took. */
async function isRefusal(
  { tier, coder }: Reading,
  { threadId, namespace, checkpointId }: StoredCheckpoint["record"],
  asked: OpenedBatch,
  failed: OpenedBatch,
): Promise<boolean> {
  for await (const { record, blobs } of tier.list({ threadId, namespace, checkpointId, limit: 1 })) {
    const read = async ({ writes }: OpenedBatch, wanted: string): Promise<unknown[]> => {
      const found: unknown[] = [];
      for (const { channel, value } of writes)
        if (channel === wanted) found.push(await coder.value(record, channel, value, blobs));
      return found;
    };
    if (!(await read(failed, ERROR)).some(mayRefuse)) return false;
    const taken = async (batch: OpenedBatch) => (await read(batch, RESUME)).flat().length;
    return (await taken(asked)) === (await taken(failed));
  }
  return false;
}
