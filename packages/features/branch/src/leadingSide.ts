import { ERROR, INTERRUPT, RESUME, TASKS } from "@langchain/langgraph-checkpoint";
import type { TierSaver } from "@stratigraph/core";
import { NULL_TASK, configOf, currentWrites } from "@stratigraph/core/internal";
import { refuseLostCalls } from "./callMoves.ts";
import { type MergeableGraph, channelsOf, kindOf } from "./graphLike.ts";
import { mergeRefused, type UnfinishedWork } from "./mergeRefused.ts";
import type { MergeSide } from "./mergeSide.ts";

/**
 * The side whose unfinished work the merged checkpoint continues: the only one that has any. If no side has any, it is the target. If
 * several sides would run the same nodes next, it is the first of these.
 * @throws StratigraphError "MERGE_REFUSED" if continuing would lose or repeat work
 */
export async function leadingSide(
  graph: MergeableGraph,
  saver: TierSaver,
  sides: readonly [MergeSide, ...MergeSide[]],
): Promise<MergeSide> {
  const states = await Promise.all(sides.map((side) => unfinishedWork(graph, side)));
  const unfinished = states.filter(({ next, tasks }) => next.length > 0 || tasks.length > 0);
  const [first, ...others] = unfinished;
  if (first === undefined) return sides[0];
  const interrupted = unfinished.filter(({ tasks }) => tasks.some(({ interrupts }) => interrupts.length > 0));
  if (interrupted.length > 1)
    throw mergeRefused("both sides wait for an answer to an interrupt", interrupted);
  for (const one of unfinished) await refuseLoss(saver, one);
  const wanted = [...first.next].sort().join("\0");
  const differs = others.some(({ next }) => [...next].sort().join("\0") !== wanted);
  if (differs || (others.length > 0 && (interrupted.length > 0 || sends(unfinished))))
    throw mergeRefused("both sides have work under way, and not the same", unfinished);
  await refuseLostCalls(saver, sides[0].at.threadId, first, false);
  return first.side;
}

/** What is still due on a side. */
export async function unfinishedWork(graph: MergeableGraph, side: MergeSide): Promise<UnfinishedWork> {
  if (isIdle(graph, side)) return { side, next: [], tasks: [] };
  const { next, tasks } = await graph.getState(configOf(side.at));
  return { side, next, tasks };
}

/** Whether a Send is due on any side. Sends have arguments of their own, so equal node names don't mean equal work. */
function sends(unfinished: readonly UnfinishedWork[]): boolean {
  return unfinished.some(({ side: { checkpoint } }) => {
    const tasks: unknown = checkpoint.channel_values[TASKS];
    return Array.isArray(tasks) && tasks.flat().length > 0;
  });
}

/**
 * Refuses to continue a step that has begun. Tasks belong to a checkpoint id, and the merged checkpoint has a new one, so they would run
 * again.
 */
async function refuseLoss(saver: TierSaver, unfinished: UnfinishedWork): Promise<void> {
  const { side, tasks } = unfinished;
  const { record, writes, blobs } = side.stored;
  for (const { taskId, channel } of await saver.coder.writes.decode(record, writes, blobs)) {
    if (taskId === NULL_TASK || channel === INTERRUPT || channel === ERROR) continue;
    const what =
      channel === RESUME ? "was given an answer and hasn't ended" : "has ended, and its step hasn't";
    throw mergeRefused(`a task of one side ${what}: it would run again`, [unfinished]);
  }
  if (tasks.some(({ interrupts, state }) => interrupts.length > 0 && state !== undefined))
    throw mergeRefused("an interrupt waits inside a subgraph of one side, which would start over", [
      unfinished,
    ]);
}

/**
 * Whether nothing is due at a checkpoint, judged only by channel versions. This avoids a state snapshot, which would read and decode
 * the checkpoint again. False may also mean that the versions aren't enough to tell.
 */
function isIdle(graph: MergeableGraph, { stored, checkpoint }: MergeSide): boolean {
  if (graph.nodes === undefined || currentWrites(stored.writes).length > 0) return false;
  const { channel_values, channel_versions, versions_seen } = checkpoint;
  const sends: unknown = channel_values[TASKS];
  if (sends !== undefined && !(Array.isArray(sends) && sends.length === 0)) return false;
  const specs = channelsOf(graph);
  return Object.entries(graph.nodes).every(([node, { triggers }]) =>
    triggers.every((channel) => {
      const version = channel_versions[channel];
      const seen = versions_seen[node]?.[channel];
      if (version === undefined || (seen !== undefined && version <= seen)) return true;
      // A control channel that was written and has been consumed since has a version but no value.
      return kindOf(channel, specs.get(channel)) === "control" && channel_values[channel] === undefined;
    }),
  );
}
