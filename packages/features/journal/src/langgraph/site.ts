import { StratigraphError, ThreadDeletedError, type TierSaver } from "@stratigraph/core";
import { isTaskOfCall, taskOfCall } from "../calls/currentCall.ts";
import type { CallSite } from "../calls/plannedCall.ts";
import { answerSchema } from "../calls/questions.ts";
import { isStored } from "./isStored.ts";
import { loadInterrupt } from "./langgraph.ts";
import { Place } from "./place.ts";
import type { Task } from "./taskConfig.ts";

/** How long a call waits at most for the checkpoint that issued it, in milliseconds. */
const longestBarrierMs = 30_000;

/** The data about a call's task that the protocol needs. */
export async function siteOf(saver: TierSaver, task: Task, author: string | undefined): Promise<CallSite> {
  const common = { signal: task.signal, author, task: task.where.task, namespace: task.ownNamespace };
  if (task.attempt === undefined) return common;
  const interrupt = task.canInterrupt ? await loadInterrupt() : undefined;
  return {
    ...common,
    asking:
      interrupt === undefined
        ? undefined
        : {
            answers: task.answers,
            ask: (question) =>
              task.stop(() => interrupt(question, { responseSchema: answerSchema(question) })),
          },
    interrupts: task.interrupts,
    passOver: task.passOver,
    place: placeOf(saver, task),
    waitForIssuer: (signal, timeoutMs) => waitForIssuer(saver, task, signal, timeoutMs),
    mayBegin: () => mayBegin(saver, task),
  };
}

/** The place of the call; undefined for one that another call makes, as it belongs to that call. */
function placeOf(saver: TierSaver, { threadId = "", journal, where, callScope }: Task): Place | undefined {
  if (isTaskOfCall(where.task)) return undefined;
  const there = threadId === journal ? where : { ...where, thread: threadId };
  return new Place(saver, threadId, journal ?? threadId, there, taskOfCall(), callScope !== undefined);
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
