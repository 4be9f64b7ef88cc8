import { INTERRUPT, uuid5 } from "@langchain/langgraph-checkpoint";

/** LangGraph's task id of pending writes that no task made: input, and the updates of a Command. */
export const NULL_TASK = "00000000-0000-0000-0000-000000000000";

/**
 * Ids under which durability "exit" stores the DeltaChannel writes of a whole run on the checkpoint where it began: a step
 * number or ffffffff, where task ids have random digits. They belong to the one checkpoint which that run puts at its end.
 */
const exitTaskId = /^(0000[0-9-]{4}|ffffffff)-/;

/** Whether a task id is one that durability "exit" makes up. Updates of Commands have {@link NULL_TASK} there, too. */
export function isExitTask(taskId: string): boolean {
  return taskId !== NULL_TASK && exitTaskId.test(taskId);
}

/**
 * Task ids under which LangGraph writes to a checkpoint what none of its tasks wrote: input, and updateState.
 * @param updates most updates that were made at once: from LangGraph 1.5 on they are numbered
 */
export function taskIdsOfNoTask(checkpointId: string, updates: number): Set<string> {
  const names = ["__input__", INTERRUPT];
  for (let n = 1; n < updates; n += 1) names.push(`${INTERRUPT}:${n}`);
  return new Set(names.map((name) => uuidOf(name, checkpointId)));
}

/** LangGraph's graphs make checkpoint ids that are UUIDs; under another id there are no such tasks. */
function uuidOf(name: string, checkpointId: string): string {
  try {
    return uuid5(name, checkpointId);
  } catch {
    return "";
  }
}
