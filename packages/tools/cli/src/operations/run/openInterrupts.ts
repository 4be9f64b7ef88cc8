import { readPoint, taskStates } from "@stratigraph/branch/internal";
import { NotFoundError, type TierSaver } from "@stratigraph/core";
import type { StateLike } from "./runnableGraph.ts";

/** A question of a task that waits for an answer. */
export interface OpenInterrupt {
  readonly id: string;
  readonly node: string;
  readonly value: unknown;
}

/**
 * The questions that wait at a state. LangGraph lists those of a task that was answered and has ended, too, and leaves a task out of `next` that
 * asks its second question: its pending writes tell the two apart.
 */
export async function openInterrupts(saver: TierSaver, state: StateLike): Promise<OpenInterrupt[]> {
  const asking = state.tasks.filter(
    ({ interrupts, result }) => interrupts.length > 0 && result === undefined,
  );
  if (asking.length === 0) return [];
  const waiting = await waitingAt(saver, state);
  return asking
    .filter(({ id, name }) => waiting?.has(id) ?? state.next.includes(name))
    .flatMap(({ name, interrupts }) => interrupts.map(({ id = "", value }) => ({ id, node: name, value })));
}

/** The tasks that wait, by what they wrote; undefined if the state isn't in this storage: that of a rehearsal isn't. */
async function waitingAt(saver: TierSaver, { config }: StateLike): Promise<ReadonlySet<string> | undefined> {
  const { thread_id, checkpoint_ns, checkpoint_id } = config?.configurable ?? {};
  if (typeof thread_id !== "string" || typeof checkpoint_id !== "string") return undefined;
  const at = { threadId: thread_id, namespace: String(checkpoint_ns ?? ""), checkpointId: checkpoint_id };
  try {
    return (await taskStates(saver, (await readPoint(saver, at)).stored)).waiting;
  } catch (error) {
    if (NotFoundError.is(error)) return undefined;
    throw error;
  }
}
