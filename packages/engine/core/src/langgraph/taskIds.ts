import { INTERRUPT, uuid5 } from "@langchain/langgraph-checkpoint";

/** The task id under which LangGraph stores pending writes that no task made: input, and the updates of a Command. */
export const NULL_TASK = "00000000-0000-0000-0000-000000000000";

/**
 * Task ids under which durability "exit" stores the DeltaChannel writes of a whole run on the checkpoint where the run began.
 * They begin with a step number or ffffffff, where other task ids have random digits. The writes belong to the one checkpoint
 * that the run puts at its end.
 */
const exitTaskId = /^(0000[0-9-]{4}|ffffffff)-/;

/** Whether a task id is one that durability "exit" makes up. Updates of Commands aren't among these: they have {@link NULL_TASK}. */
export function isExitTask(taskId: string): boolean {
  return taskId !== NULL_TASK && exitTaskId.test(taskId);
}

/**
 * Task ids under which LangGraph stores pending writes of a checkpoint that none of its tasks made: input, and updateState.
 * @param updates how many updates were made at once at most; from LangGraph 1.5 on they are numbered
 */
export function taskIdsOfNoTask(checkpointId: string, updates: number): Set<string> {
  const names = ["__input__", INTERRUPT];
  for (let n = 1; n < updates; n += 1) names.push(`${INTERRUPT}:${n}`);
  return new Set(names.map((name) => uuidOf(name, checkpointId)));
}

/** Checkpoint ids that LangGraph makes are UUIDs. A checkpoint with another id has no such tasks. */
function uuidOf(name: string, checkpointId: string): string {
  try {
    return uuid5(name, checkpointId);
  } catch {
    return "";
  }
}
