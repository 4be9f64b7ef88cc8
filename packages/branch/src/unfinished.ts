import { ERROR, INTERRUPT, RESUME, TASKS } from "@langchain/langgraph-checkpoint";
import { configOf, NULL_TASK, StratigraphError, type TierSaver } from "@stratigraph/core";
import type { MergeableGraph, TaskLike } from "./graphLike.ts";
import { isIdle } from "./isIdle.ts";
import type { Side } from "./mergeSide.ts";

/** Work that a side has yet to do. */
export interface Unfinished {
  readonly side: Side;
  readonly next: readonly string[];
  readonly tasks: readonly TaskLike[];
}

/**
 * The side whose unfinished work the merged checkpoint goes on with: the one that has any; the first where none has, or
 * where all would run the same nodes next.
 * @throws StratigraphError "MERGE_REFUSED" where going on would lose or repeat work
 */
export async function leadingSide(
  graph: MergeableGraph,
  saver: TierSaver,
  sides: readonly [Side, ...Side[]],
): Promise<Side> {
  const states = await Promise.all(
    sides.map(async (side): Promise<Unfinished> => {
      if (isIdle(graph, side)) return { side, next: [], tasks: [] };
      const { next, tasks } = await graph.getState(configOf(side.at));
      return { side, next, tasks };
    }),
  );
  const unfinished = states.filter(({ next, tasks }) => next.length > 0 || tasks.length > 0);
  const [first, ...others] = unfinished;
  if (first === undefined) return sides[0];
  const interrupted = unfinished.filter(({ tasks }) => tasks.some(({ interrupts }) => interrupts.length > 0));
  if (interrupted.length > 1) throw refused("both sides wait for an answer to an interrupt", interrupted);
  for (const one of unfinished) await refuseLoss(saver, one);
  const wanted = [...first.next].sort().join("\0");
  const differs = others.some(({ next }) => [...next].sort().join("\0") !== wanted);
  if (differs || (others.length > 0 && (interrupted.length > 0 || sends(unfinished))))
    throw refused("both sides have work under way, and not the same", unfinished);
  return first.side;
}

/** Sends carry arguments of their own, so equal names don't mean equal work. */
function sends(unfinished: readonly Unfinished[]): boolean {
  return unfinished.some(({ side: { checkpoint } }) => {
    const tasks: unknown = checkpoint.channel_values[TASKS];
    return Array.isArray(tasks) && tasks.flat().length > 0;
  });
}

/** A merged checkpoint has an id of its own, and tasks belong to an id: what they did so far would be done again. */
async function refuseLoss(saver: TierSaver, unfinished: Unfinished): Promise<void> {
  const { side, tasks } = unfinished;
  const { record, writes, blobs } = side.stored;
  for (const { taskId, channel } of await saver.coder.writes.decode(record, writes, blobs)) {
    if (taskId === NULL_TASK || channel === INTERRUPT || channel === ERROR) continue;
    const what =
      channel === RESUME ? "was given an answer and hasn't ended" : "has ended, and its step hasn't";
    throw refused(`a task of one side ${what}: it would run again`, [unfinished]);
  }
  if (tasks.some(({ interrupts, state }) => interrupts.length > 0 && state !== undefined))
    throw refused("an interrupt waits inside a subgraph of one side, which would start over", [unfinished]);
}

/** What can't be merged safely. `remedy`: what to do, without a full stop. */
export function refused(
  reason: string,
  sides: readonly Unfinished[] = [],
  remedy = "Let the work end (or answer it) on all sides but one, or merge an earlier checkpoint, and merge again",
): StratigraphError {
  const named = sides.map(({ side, next }) => ({ ...side.at, next }));
  const where = named.map(
    ({ threadId, next }) => `${JSON.stringify(threadId)} (next: ${next.join(", ") || "nothing"})`,
  );
  return new StratigraphError(
    "MERGE_REFUSED",
    `The merge was refused: ${reason}${where.length === 0 ? "" : `; ${where.join(" and ")}`}. Nothing was written. ${remedy}.`,
    { reason, sides: named },
  );
}
