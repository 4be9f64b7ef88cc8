import { CheckpointConflictError, InvalidOptionError, type TierSaver } from "@stratigraph/core";
import { checkOptions, configOf } from "@stratigraph/core/internal";
import { baseSide } from "./baseSide.ts";
import { refuseLostCalls } from "./callMoves.ts";
import { fastForward } from "./fastForward.ts";
import { checkPoint, checkThread } from "./checkPoint.ts";
import { kindOfValue } from "./checkSaver.ts";
import { channelsOf, kindOf, saverOf, type MergeableGraph } from "./graphLike.ts";
import { History } from "./history.ts";
import { findMergeBase, type MergeBase } from "./mergeBase.ts";
import type { Outcome } from "./mergeChannel.ts";
import { mergeChannels, type MergeSource } from "./mergeChannels.ts";
import { mergedCheckpoint } from "./mergedCheckpoint.ts";
import type { Answers, CheckpointRef, MergePlan } from "./mergePlan.ts";
import type { Point, ThreadRef } from "./readPoint.ts";
import { readMergeSide, type MergeSide } from "./mergeSide.ts";
import { checkChannels, strategyOf, type Strategies } from "./strategy.ts";
import { leadingSide, unfinishedWork } from "./leadingSide.ts";
import { mergeRefused } from "./mergeRefused.ts";
import { writeMerge } from "./writeMerge.ts";

/** Options of {@link merge}. */
export interface MergeOptions {
  /** How channels that both sides changed are settled. See {@link Strategies}. */
  readonly strategy?: Strategies | undefined;
  /**
   * What happens if the source descends from the target's head: true (default) only moves the head forward to the source; false makes a
   * merge checkpoint nevertheless.
   */
  readonly fastForward?: boolean | undefined;
  /** Only reports what the merge would do, and writes nothing. Default false. */
  readonly dryRun?: boolean | undefined;
}

type Config = { configurable: { thread_id: string; checkpoint_ns: string; checkpoint_id: string } };

/** The result of a merge. */
export type MergeResult =
  | {
      readonly status: "merged";
      /** The config of the merge checkpoint, which is now the target's head. */
      readonly config: Config;
      /** For each state channel, where its value comes from. */
      readonly channels: Readonly<Record<string, Outcome>>;
    }
  | { readonly status: "fast-forward"; readonly config: Config }
  | { readonly status: "already-merged"; readonly config: Config }
  /** A dry run found no obstacle. `channels` as of a merge; absent if the head would only move forward. */
  | {
      readonly status: "planned";
      /** Names the target's head. */
      readonly config: Config;
      readonly channels?: Readonly<Record<string, Outcome>> | undefined;
    }
  /** Nothing was written. Answer the plan and call {@link applyMerge}. */
  | { readonly status: "conflict"; readonly plan: MergePlan };

/**
 * Merges threads or side branches into a thread. This is a three-way merge from the merge base, channel by channel. The result is one
 * checkpoint of the target, stored by compare-and-set, whose metadata names all parents. The graph continues from it as if the thread
 * had reached that state by itself. If one side has unfinished work, the merged checkpoint takes it over.
 *
 * @param graph compiled with a Stratigraph saver; its channels say how values combine
 * @param target the thread to merge into, at its head
 * @param sources one or more points of other threads or of the same one; a thread id stands for the thread's head
 * @throws StratigraphError "MERGE_REFUSED" if merging would lose or repeat work, or if there is no merge base;
 * CheckpointConflictError if the target's head moves meanwhile (nothing was written); NotFoundError, InvalidOptionError,
 * InvalidAddressError
 */
export async function merge(
  graph: MergeableGraph,
  target: ThreadRef,
  sources: string | Point | readonly (string | Point)[],
  options: MergeOptions = {},
): Promise<MergeResult> {
  saverOf("merge", graph);
  const threadId = checkThread("target", target);
  const points = Array.isArray(sources)
    ? (sources as readonly unknown[]).map((source, n) => checkPoint(`sources[${n}]`, source))
    : [checkPoint("sources", sources)];
  checkMergeOptions("merge", options);
  return await mergeWith(graph, threadId, points, options, { answers: {}, expected: undefined });
}

/** @throws InvalidOptionError */
export function checkMergeOptions(what: string, options: MergeOptions): void {
  checkOptions<MergeOptions>(what, options, { strategy: true, fastForward: true, dryRun: true });
  const { fastForward, dryRun } = options;
  for (const [name, value] of Object.entries({ fastForward, dryRun }))
    if (value !== undefined && typeof value !== "boolean")
      throw new InvalidOptionError(name, kindOfValue(value), "Use true or false.");
}

/** As {@link merge}, with answers to a plan. @param expected the head that the target must have; undefined: any */
export async function mergeWith(
  graph: MergeableGraph,
  threadId: string,
  points: readonly Point[],
  options: MergeOptions,
  { answers, expected }: { answers: Answers; expected: string | undefined },
): Promise<MergeResult> {
  const saver = saverOf("merge", graph);
  const strategy = strategyOf(options.strategy);
  // Forget remembered values, so that patches are based on what is read now. Another process may have pruned other bases.
  saver.coder.blobs.forgetThread(threadId);
  const threads = [threadId, ...points.map((point) => point.threadId)];
  const read = async (): Promise<History> => {
    const history = new History();
    await history.add(saver, ...threads);
    return history;
  };
  const [target, sides, early] = await Promise.all([
    readMergeSide(graph, saver, { threadId }),
    Promise.all(points.map((point) => readMergeSide(graph, saver, point))),
    read(),
  ]);
  // If a thread got new checkpoints between the two reads, read the history again.
  const isThere = ({ at }: MergeSide): boolean => early.nodes.has(at.checkpointId);
  const history = [target, ...sides].every(isThere) ? early : await read();
  if (expected !== undefined && target.at.checkpointId !== expected) {
    const head = target.at.checkpointId;
    throw new CheckpointConflictError(
      { ...target.at, checkpointId: expected, head, expected: [expected] },
      `The merge was refused: thread ${JSON.stringify(threadId)} went on to ${head}, from ${expected}, since the plan was made. ` +
        `Nothing was written. Merge again for a new plan.`,
    );
  }
  const specs = channelsOf(graph);
  const all = [target, ...sides].flatMap(({ values }) => [...values.keys()]);
  checkChannels(options.strategy, [
    ...[...specs].filter(([name, spec]) => kindOf(name, spec) !== "control").map(([name]) => name),
    ...all,
  ]);
  const unmerged = await withBases(saver, history, target, sides);
  const config = configOf(target.at);
  const [only] = unmerged;
  if (only === undefined) return { status: "already-merged", config };
  const ahead = only.base.checkpointId === target.at.checkpointId;
  if (unmerged.length === 1 && ahead && options.fastForward !== false) {
    await refuseLostCalls(saver, threadId, await unfinishedWork(graph, only.side), true);
    if (options.dryRun === true) return { status: "planned", config };
    return { status: "fast-forward", config: configOf(await fastForward(saver, target, only.side)) };
  }
  const [leading, inputs] = await Promise.all([
    leadingSide(graph, saver, [target, ...unmerged.map(({ side }) => side)]),
    Promise.all(
      unmerged.map(async ({ base, side }): Promise<MergeSource> => {
        const [one, other] = [target.at.checkpointId, side.at.checkpointId];
        return {
          base: await baseSide(graph, saver, history, base, strategy),
          side,
          sourcePath: history.since(other, one),
          targetPath: history.since(one, other),
        };
      }),
    ),
  ]);
  const merged = await mergeChannels(graph, saver, target, history.nodes, inputs, { strategy, answers });
  if (merged.conflicts.length > 0) {
    const ref = ({ at }: MergeSide): CheckpointRef => ({
      threadId: at.threadId,
      checkpointId: at.checkpointId,
    });
    const plan: MergePlan = {
      version: 1,
      target: ref(target),
      sources: inputs.map(({ side }) => ref(side)),
      bases: inputs.map(({ base }) => base.at.checkpointId),
      channels: merged.conflicts,
    };
    return { status: "conflict", plan };
  }
  const channels = Object.fromEntries(merged.outcomes);
  if (options.dryRun === true) return { status: "planned", config, channels };
  const made = mergedCheckpoint(graph, saver, { target, leading, inputs, values: merged.values });
  const at = await writeMerge(saver, history, target, inputs, made);
  return { status: "merged", config: configOf(at), channels };
}

/** The sources that aren't merged into the target yet, each with its merge base. @throws StratigraphError "MERGE_REFUSED" */
async function withBases(
  saver: TierSaver,
  history: History,
  target: MergeSide,
  sides: readonly MergeSide[],
): Promise<{ base: MergeBase; side: MergeSide }[]> {
  const found: { base: MergeBase; side: MergeSide }[] = [];
  for (const side of sides) {
    if (side.at.namespace !== "")
      throw mergeRefused(
        "only root checkpoints are merged; their subgraphs go with them",
        [],
        "Name the thread, or a checkpoint of its root namespace",
      );
    const { checkpointId } = side.at;
    const base = await findMergeBase(saver, history, target.at, side.at);
    if (base === undefined) {
      const threads = `threads ${JSON.stringify(target.at.threadId)} and ${JSON.stringify(side.at.threadId)}`;
      throw mergeRefused(
        `${threads} have no checkpoint in common`,
        [],
        "Merge threads that come from one another: fork() makes such, lineage() and log() show where a thread comes from. " +
          "To take values over from an unrelated thread, use graph.updateState()",
      );
    }
    const taken = found.some((other) => other.side.at.checkpointId === checkpointId);
    if (base.checkpointId !== checkpointId && !taken) found.push({ base, side });
  }
  return found;
}
