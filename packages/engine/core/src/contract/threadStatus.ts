import { ERROR, INTERRUPT, RESUME, TASKS } from "@langchain/langgraph-checkpoint";
import { term } from "../encode/metadataTerms.ts";
import { NULL_TASK } from "../langgraph/taskIds.ts";

/**
 * How a thread stands, by its newest root checkpoint:
 *
 * - "waiting": a question (`interrupt()`) waits for a person's answer
 * - "failed": a task of the step that is due ended with an error
 * - "interrupted": a step is due, and nothing waits or failed. The run was cut off, killed or stopped by `interruptBefore`; or it is under
 *   way: the storage can't tell these apart
 * - "idle": nothing is due
 *
 * Where one task waits and another failed, the thread waits.
 */
export type ThreadStatus = "waiting" | "failed" | "interrupted" | "idle";

/** All of {@link ThreadStatus}. */
export const threadStatuses: readonly ThreadStatus[] = ["waiting", "failed", "interrupted", "idle"];

/**
 * What a batch of pending writes says of its task: it asks, it failed, it was given an answer, or it ended. "all-answered": it is an answer
 * of which only LangGraph knows the task. "nothing": it isn't pending.
 */
export type WritesOutcome = "waiting" | "failed" | "answered" | "all-answered" | "ended" | "nothing";

/** The channel that names the error handler's source. */
const errorSource = "__error_source_node__";

/** Channels of pending writes that aren't the output of a task. */
const notOutput: ReadonlySet<string> = new Set([ERROR, errorSource, INTERRUPT, RESUME]);

/** Whether a task wrote to a channel. */
export function hasOutput(channels: readonly string[]): boolean {
  return channels.some((channel) => !notOutput.has(channel));
}

/** LangGraph stores an answer that names its question under the question's id, which has this form; a task's id hasn't. */
const questionId = /^[0-9a-f]{32}$/;

/** What a batch says of its task, by the names of its channels. */
export function outcomeOf(taskId: string, channels: Iterable<string>): WritesOutcome {
  const named = new Set(channels);
  if (named.has(ERROR)) return "failed";
  if (named.has(RESUME) && (taskId === NULL_TASK || questionId.test(taskId))) return "all-answered";
  if (hasOutput([...named])) return "ended";
  if (named.has(INTERRUPT)) return "waiting";
  return named.has(RESUME) ? "answered" : "ended";
}

/** Whether a run fails by what a task of its root wrote. It goes on if the task's node has an error handler. */
export function failsRun(writes: readonly (readonly [string, unknown])[]): boolean {
  const channels = writes.map(([channel]) => channel);
  return channels.includes(ERROR) && !channels.includes(errorSource);
}

/**
 * Whether an error may be that of an answer which didn't fit its question's schema: the question waits again then. What else the task wrote
 * tells; see `taskStates`.
 */
export function mayRefuse(error: unknown): boolean {
  return String((Object(error) as { name?: unknown }).name).endsWith("ZodError");
}

/** Terms of records that say whether a step is due. Records of older versions have neither. */
const dueTerm = term("stratigraph:due");
const idleTerm = term("stratigraph:idle");

/** {@link dueTerm} and {@link idleTerm}, for a tier that looks at terms by itself. */
export const statusTerms = { interrupted: dueTerm, idle: idleTerm } as const;

/** The term of a checkpoint with these values: whether a step is due. */
export function statusTerm(values: Readonly<Record<string, unknown>>): number {
  return isDue(values) ? dueTerm : idleTerm;
}

/** Whether a step is due, by the values of a checkpoint. */
export function isDue(values: Readonly<Record<string, unknown>>): boolean {
  return dueNodes(Object.entries(values)).length > 0;
}

/** The nodes that are due, by the values of a checkpoint's control channels: LangGraph clears those that were used. */
export function dueNodes(channels: Iterable<readonly [channel: string, value: unknown]>): string[] {
  const due = new Set<string>();
  for (const [channel, value] of channels) {
    if (value === undefined) continue;
    if (channel === "__start__") due.add(channel);
    else if (channel === TASKS) for (const node of sentTo(value)) due.add(node);
    else if (channel.startsWith("branch:to:")) due.add(channel.slice("branch:to:".length));
    else if (channel.startsWith("join:") && isJoined(channel, value))
      due.add(channel.slice(channel.lastIndexOf(":") + 1));
  }
  return [...due];
}

/** The nodes that Sends go to, in the order in which they were sent. */
export function sentTo(value: unknown): string[] {
  return [value].flat(2).flatMap((send) => {
    const node: unknown = (send as { readonly node?: unknown } | null | undefined)?.node;
    return typeof node === "string" ? [node] : [];
  });
}

/** Whether a barrier (`join:a+b:node`) has seen all nodes that it waits for. That of a deferred node is in a list with a flag. */
export function isJoined(channel: string, value: unknown): boolean {
  if (!Array.isArray(value)) return false;
  const seen: readonly unknown[] = Array.isArray(value[0]) ? value[0] : value;
  // Names of nodes may have a "+" themselves, so the length of the list tells, not what is between its signs.
  const waited = channel.slice("join:".length, channel.lastIndexOf(":"));
  return seen.join("+").length === waited.length;
}

/** A batch of pending writes: whose, and its outcome, undefined if it isn't known. */
export type TaskOutcome = readonly [taskId: string, outcome: WritesOutcome | undefined];

/**
 * The status of a thread. Undefined if it isn't known.
 * @param terms of the newest root checkpoint
 * @param outcomes of the batches of its pending writes, oldest first. The last one of a task counts
 */
export function statusFrom(
  terms: readonly number[],
  outcomes: readonly TaskOutcome[],
): ThreadStatus | undefined {
  const last = lastOutcomes(outcomes);
  if (last === undefined) return undefined;
  const found = new Set(last.values());
  if (found.has("waiting")) return "waiting";
  if (found.has("failed")) return "failed";
  if (terms.includes(idleTerm)) return "idle";
  return terms.includes(dueTerm) ? "interrupted" : undefined;
}

/** How each task stands. Undefined if it isn't known. */
export function lastOutcomes(
  outcomes: readonly TaskOutcome[],
): ReadonlyMap<string, WritesOutcome> | undefined {
  const last = new Map<string, WritesOutcome>();
  for (const [taskId, outcome] of outcomes) {
    if (outcome === undefined) return undefined;
    if (outcome === "nothing") continue;
    if (outcome === "all-answered") {
      // Tasks that still ask do so again in the run that takes the answer.
      for (const [asked, was] of last) if (was === "waiting") last.set(asked, "answered");
    } else last.set(taskId, outcome);
  }
  return last;
}
