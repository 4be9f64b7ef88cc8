import { ERROR, RESUME, TASKS } from "@langchain/langgraph-checkpoint";
import {
  dueNodes,
  hasOutput,
  lastOutcomes,
  mayRefuse,
  outcomeOf,
  statusTerms,
  type TaskOutcome,
  type ThreadStatus,
  type WritesOutcome,
} from "../contract/threadStatus.ts";
import type { CheckpointRecord, StoredCheckpoint, Tier } from "../contract/tier.ts";
import type { CheckpointCoder } from "../encode/checkpointCoder.ts";
import type { OpenedBatch } from "../encode/pendingWrites.ts";
import type { WritesWanted } from "../encode/writeCoder.ts";
import { isControlChannel } from "../langgraph/channelNames.ts";

/** How the step stands that follows a checkpoint. */
export interface TaskStates {
  /** By task id. A task that ended stays so: if another one fails, LangGraph may write an AbortError for it, with what it wrote or afterwards. */
  readonly outcomes: ReadonlyMap<string, WritesOutcome>;
  /** The ids of the tasks that wait for an answer. */
  readonly waiting: ReadonlySet<string>;
  /** What the last failed task wrote, its error among it. */
  readonly failed: OpenedBatch | undefined;
  /** The thread's, if the checkpoint is its newest root. */
  status(): Promise<ThreadStatus>;
}

/** What is read: a TierSaver has both. */
interface Reading {
  readonly tier: Pick<Tier, "list">;
  readonly coder: CheckpointCoder;
}

/**
 * How a checkpoint's step stands, by its pending writes and by what is due: for every door that says so. A task that failed because an answer
 * didn't fit its question's schema still waits. Tiers that know outcomes and terms say the same by `statusFrom`.
 * @param child if given, how the tasks stood that this child of the checkpoint was made from
 * @throws CorruptionError; StratigraphError "KEY_MISSING", "KEY_UNAVAILABLE", "NEWER_FORMAT"
 */
export async function taskStates(
  reading: Reading,
  { record, writes }: Pick<StoredCheckpoint, "record" | "writes">,
  child?: WritesWanted["child"],
): Promise<TaskStates> {
  const outcomes: TaskOutcome[] = [];
  const asked = new Map<string, OpenedBatch>();
  const failures = new Map<string, OpenedBatch>();
  const ended = new Set<string>();
  const aborted = new Set<string>();
  for (const batch of await reading.coder.writes.wanted(record, writes, child)) {
    const { taskId } = batch;
    const question = asked.get(taskId);
    const channels = batch.writes.map(({ channel }) => channel);
    let outcome = outcomeOf(taskId, channels);
    if (outcome === "waiting") asked.set(taskId, batch);
    if (outcome === "ended") ended.add(taskId);
    if (outcome === "failed") {
      if (hasOutput(channels)) aborted.add(taskId);
      failures.set(taskId, batch);
      if (question !== undefined && (await isRefusal(reading, record, question, batch))) outcome = "waiting";
    }
    outcomes.push([taskId, outcome]);
  }
  // What failed by itself may have written before, too.
  if ([...failures.keys()].some((taskId) => !aborted.has(taskId)))
    for (const taskId of aborted) ended.add(taskId);
  const last = lastOutcomes(outcomes)!;
  const tasks = (wanted: string) =>
    [...last].flatMap(([taskId, outcome]) => (outcome === wanted ? [taskId] : []));
  const waiting = new Set(tasks("waiting"));
  const failed = new Set(tasks("failed"));
  const wrong = [...failures].filter(([taskId]) => failed.has(taskId));
  const stopped = waiting.size > 0 ? "waiting" : failed.size > 0 ? "failed" : undefined;
  return {
    outcomes: new Map([...last, ...[...ended].map((taskId) => [taskId, "ended"] as const)]),
    waiting,
    failed: (wrong.findLast(([taskId]) => !ended.has(taskId)) ?? wrong.at(-1))?.[1],
    status: async () => stopped ?? ((await isDueAt(reading, record)) ? "interrupted" : "idle"),
  };
}

/**
 * The status of a thread, by reading its newest root checkpoint: for threads of which the tier doesn't know it. Without a root checkpoint
 * nothing is due. Undefined if it isn't here.
 * @throws as {@link taskStates}
 */
export async function statusAt(
  reading: Reading,
  threadId: string,
  head: string | undefined,
): Promise<ThreadStatus | undefined> {
  return head === undefined ? "idle" : await (await statesAt(reading, threadId, head))?.status();
}

/** {@link taskStates} of a root checkpoint. Undefined if it isn't here. */
export async function statesAt(
  reading: Reading,
  threadId: string,
  checkpointId: string,
): Promise<TaskStates | undefined> {
  const query = { threadId, namespace: "", checkpointId, limit: 1, recordsOnly: true };
  for await (const stored of reading.tier.list(query)) return await taskStates(reading, stored);
  return undefined;
}

/** Whether a step is due after a checkpoint. Records of older versions don't say so, their values do. */
export async function isDueAt(reading: Reading, record: CheckpointRecord): Promise<boolean> {
  const { idle, interrupted } = statusTerms;
  if (record.terms.includes(idle)) return false;
  return record.terms.includes(interrupted) || (await dueAt(reading, record)).length > 0;
}

/** The nodes that are due after a checkpoint. Values are read only if names don't tell. */
export async function dueAt({ tier, coder }: Reading, record: CheckpointRecord): Promise<string[]> {
  const { threadId, namespace, checkpointId } = record;
  const { manifest } = await coder.decodeBody(record);
  const control: [string, unknown][] = [];
  for (const { channel, value } of manifest.values()) {
    if (value === undefined || !isControlChannel(channel)) continue;
    if (channel !== TASKS && !channel.startsWith("join:")) control.push([channel, true]);
    else if (!("hash" in value))
      control.push([channel, await coder.value(record, channel, value, new Map())]);
    else
      for await (const { blobs } of tier.list({ threadId, namespace, checkpointId, limit: 1 }))
        control.push([channel, await coder.value(record, channel, value, blobs)]);
  }
  return dueNodes(control);
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
