import { StratigraphError, ThreadDeletedError, type TierSaver } from "@stratigraph/core";
import { RunsUnderWay } from "@stratigraph/core/internal";
import { isTaskOfCall, taskOfCall } from "../calls/currentCall.ts";
import type { CallSite } from "../calls/plannedCall.ts";
import { answerSchema } from "../calls/questions.ts";
import type { Where } from "../log/entry.ts";
import { isAskedAnew } from "./chain.ts";
import { isStored } from "./isStored.ts";
import { loadInterrupts } from "./langgraph.ts";
import { hasMoreInputs } from "./past.ts";
import { Place } from "./place.ts";
import type { Task } from "./taskConfig.ts";

/** How long a call waits at most for the checkpoint that issued it, in milliseconds. */
const longestBarrierMs = 30_000;

/** The data about a call's task that the protocol needs. */
export async function siteOf(
  saver: TierSaver,
  task: Task,
  author: string | undefined,
  toolCallId?: string,
  formerly: readonly string[] = [],
): Promise<CallSite> {
  const place = task.attempt === undefined ? undefined : placeOf(saver, task);
  const common = {
    signal: task.signal,
    author,
    task: task.where.task,
    namespace: task.ownNamespace,
    isOfLaterTurn: (there: Where) =>
      isOfLaterTurn(saver, task, place, isAskedAnew(task, toolCallId, formerly), there),
  };
  if (task.attempt === undefined) return common;
  const interrupts = task.canInterrupt ? await loadInterrupts() : undefined;
  return {
    ...common,
    asking:
      interrupts === undefined
        ? undefined
        : {
            answers: task.answers,
            ask: (question) =>
              task.stop(() => interrupts.interrupt(question, { responseSchema: answerSchema(question) })),
            leave: interrupts.leave,
            openOf: (tasks) => openOf(saver, task, tasks),
          },
    interrupts: task.interrupts,
    passOver: task.passOver,
    place,
    waitForIssuer: (signal, timeoutMs) => waitForIssuer(saver, task, signal, timeoutMs),
    mayBegin: () => mayBegin(saver, task),
    isGivenUp: () => {
      const { threadId, issuer, signal } = task;
      const run = { control: issuer?.control, signal };
      return threadId !== undefined && RunsUnderWay.of(saver.tier).isGivenUp(run, threadId);
    },
  };
}

/** Those of some tasks of a task's step that have stored no outcome, so that they run again with this one. */
async function openOf(
  saver: TierSaver,
  { issuer, where }: Task,
  tasks: readonly (string | undefined)[],
): Promise<readonly (string | undefined)[]> {
  const stored = issuer === undefined ? undefined : await saver.getTuple(issuer);
  const ended = new Set<string>();
  for (const [task, channel] of stored?.pendingWrites ?? [])
    if (!["__interrupt__", "__resume__", "__error__"].includes(channel)) ended.add(task);
  // In time travel, they are the outcomes of an earlier run.
  return ended.has(where.task ?? "") ? tasks : tasks.filter((task) => !ended.has(task ?? ""));
}

/** The place of the call; undefined for one that another call makes, as it belongs to that call. */
function placeOf(saver: TierSaver, { threadId = "", journal, where, callScope }: Task): Place | undefined {
  if (isTaskOfCall(where.task)) return undefined;
  const there = threadId === journal ? where : { ...where, thread: threadId };
  return new Place(saver, threadId, journal ?? threadId, there, taskOfCall(), callScope !== undefined);
}

/** As in {@link CallSite}. A model that sees what came of a call, and asks for it once more, tries again. */
async function isOfLaterTurn(
  saver: TierSaver,
  task: Task,
  place: Place | undefined,
  isAnew: boolean | undefined,
  there: Where,
): Promise<boolean> {
  if (isAnew === true || (await hasInputSince(saver, task, there))) return true;
  // Another run of a subgraph is another round, unless its model was told of the call.
  const isOfRound = there.namespace === task.where.namespace;
  return !isOfRound && isAnew === undefined && (await place?.relationOf(there)) === "past";
}

/** Whether an input was given between an earlier call of the thread's root graph, or below it, and the task's step. */
async function hasInputSince(
  saver: TierSaver,
  { threadId: thread_id, journal, where }: Task,
  there: Where,
): Promise<boolean> {
  const [here, from] = [where.checkpoint, there.checkpoint];
  if (thread_id === undefined || here === undefined || from === undefined) return false;
  const root = { thread_id, checkpoint_ns: "" };
  const older = { ...root, thread_id: there.thread ?? journal ?? thread_id, checkpoint_id: from };
  return await hasMoreInputs(saver, { ...root, checkpoint_id: here }, older);
}

/** Checks whether the run's thread still exists. The saver's memory may be from before the thread was deleted. */
async function mayBegin(
  saver: TierSaver,
  { threadId, journal, where: { checkpoint: checkpointId }, durability, signal, canInterrupt }: Task,
): Promise<void> {
  // The run may have stored nothing yet, or may never do so, or its calls are in the journal of another thread.
  if (checkpointId === undefined || threadId === undefined || threadId !== journal) return;
  if (durability === "exit" || !canInterrupt) return;
  await saver.stored({ configurable: { thread_id: threadId, checkpoint_id: checkpointId } }, { signal });
  if (!(await isStored(saver.tier, { threadId, namespace: "", checkpointId })))
    throw new ThreadDeletedError(threadId);
}

/** Waits until the checkpoint from which the task's step began is stored. */
async function waitForIssuer(
  saver: TierSaver,
  { issuer, durability, canInterrupt }: Task,
  signal: AbortSignal | undefined,
  timeoutMs: number,
): Promise<void> {
  if (issuer === undefined || !canInterrupt)
    throw new StratigraphError("NOT_DURABLE", "its graph runs without a checkpointer");
  if (durability === "exit")
    throw new StratigraphError(
      "NOT_DURABLE",
      'its graph runs with durability "exit", which stores checkpoints only when it ends',
    );
  await saver.stored(issuer, { signal, timeout: `${Math.min(timeoutMs, longestBarrierMs)}ms` });
}
