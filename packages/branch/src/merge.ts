import { CheckpointConflictError, configOf, type CheckpointRecord, type TierSaver } from "@stratigraph/core";
import { fastForward } from "./fastForward.ts";
import { saverOf, type MergeableGraph } from "./graphLike.ts";
import { History } from "./history.ts";
import { findMergeBase } from "./mergeBase.ts";
import { mergeChannels, type MergeInput, type Outcome } from "./mergeChannels.ts";
import { mergedCheckpoint } from "./mergedCheckpoint.ts";
import type { Answers, CheckpointRef, MergePlan } from "./plan.ts";
import type { Point } from "./point.ts";
import { readSide, type Side } from "./side.ts";
import { strategyOf, type Strategies } from "./strategy.ts";
import { leadingSide, refused } from "./unfinished.ts";
import { writeMerge } from "./writeMerge.ts";

/** How sources are merged. */
export interface MergeOptions {
  /** What settles a channel that both sides changed. See {@link Strategies}. */
  readonly strategy?: Strategies | undefined;
  /**
   * Where the target did nothing since the source left it: true (default) moves it along the source's checkpoints;
   * false makes a merge checkpoint all the same.
   */
  readonly fastForward?: boolean | undefined;
}

type Config = { configurable: { thread_id: string; checkpoint_ns: string; checkpoint_id: string } };

/** What came of a merge. */
export type MergeResult =
  | {
      readonly status: "merged";
      /** Names the merge checkpoint, now the target's head. */
      readonly config: Config;
      /** Per state channel, where its value comes from. */
      readonly channels: Readonly<Record<string, Outcome>>;
    }
  | { readonly status: "fast-forward"; readonly config: Config }
  | { readonly status: "already-merged"; readonly config: Config }
  /** Nothing was written. Answer the plan and call {@link applyMerge}. */
  | { readonly status: "conflict"; readonly plan: MergePlan };

/**
 * Merges threads, or side branches, into a thread: three-way, channel by channel, from the merge base. The result is one
 * checkpoint on the target, put by compare-and-set, whose metadata names all parents; the graph goes on from it as if the
 * thread had reached that state itself. Unfinished work of one side is taken over.
 *
 * @param graph compiled with a Stratigraph saver; its channels say how values combine
 * @param target the thread to merge into, at its head
 * @param sources one or more points of other threads or of the same one
 * @throws StratigraphError "MERGE_REFUSED" where merging would lose or repeat work, or there is no merge base;
 * CheckpointConflictError where the target moved meanwhile (nothing was written); NotFoundError, InvalidOptionError
 */
export async function merge(
  graph: MergeableGraph,
  target: string | Point,
  sources: Point | readonly Point[],
  options: MergeOptions = {},
): Promise<MergeResult> {
  const { threadId } = typeof target === "string" ? { threadId: target } : target;
  return await mergeWith(graph, threadId, listed(sources), options, { answers: {}, expected: undefined });
}

function listed(sources: Point | readonly Point[]): readonly Point[] {
  return "threadId" in sources ? [sources] : sources;
}

/** A {@link merge}, with answers, and only if the target's head is the expected one. */
export async function mergeWith(
  graph: MergeableGraph,
  threadId: string,
  points: readonly Point[],
  options: MergeOptions,
  { answers, expected }: { answers: Answers; expected: string | undefined },
): Promise<MergeResult> {
  const saver = saverOf(graph);
  const strategy = strategyOf(options.strategy);
  // Patches are to stand on what is read now, not on what another process may have pruned since it was remembered.
  saver.coder.values.forgetThread(threadId);
  const target = await readSide(graph, saver, { threadId }, true);
  if (expected !== undefined && target.at.checkpointId !== expected) {
    const head = target.at.checkpointId;
    throw new CheckpointConflictError({ ...target.at, parentId: expected, head, expected: [expected] });
  }
  const { inputs, lines } = await unmerged(graph, saver, target, points);
  const config = configOf(target.at);
  const [only] = inputs;
  if (only === undefined) return { status: "already-merged", config };
  const ahead = only.base.at.checkpointId === target.at.checkpointId;
  if (inputs.length === 1 && ahead && options.fastForward !== false)
    return { status: "fast-forward", config: configOf(await fastForward(saver, target, only.side)) };
  const sides: [Side, ...Side[]] = [target, ...inputs.map(({ side }) => side)];
  const leading = await leadingSide(graph, saver, sides);
  const merged = await mergeChannels(graph, saver, { side: target, lines }, inputs, { strategy, answers });
  if (merged.conflicts.length > 0) {
    const ref = ({ at }: Side): CheckpointRef => ({ threadId: at.threadId, checkpointId: at.checkpointId });
    const plan: MergePlan = {
      version: 1,
      target: ref(target),
      sources: inputs.map(({ side }) => ref(side)),
      bases: inputs.map(({ base }) => base.at.checkpointId),
      channels: merged.conflicts,
    };
    return { status: "conflict", plan };
  }
  const made = mergedCheckpoint(graph, saver, { target, leading, inputs, values: merged.values });
  const at = await writeMerge(saver, target, inputs, made);
  return { status: "merged", config: configOf(at), channels: Object.fromEntries(merged.outcomes) };
}

/** The sources that the target doesn't have yet, each with its merge base and both lines since. */
async function unmerged(
  graph: MergeableGraph,
  saver: TierSaver,
  target: Side,
  points: readonly Point[],
): Promise<{ inputs: MergeInput[]; lines: CheckpointRecord[][] }> {
  const history = new History();
  const inputs: MergeInput[] = [];
  const lines: CheckpointRecord[][] = [];
  for (const point of points) {
    const side = await readSide(graph, saver, point);
    if (side.at.namespace !== "")
      throw refused("only root checkpoints are merged; their subgraphs go with them");
    const base = await findMergeBase(saver, history, target.at, side.at);
    const threads = `threads ${JSON.stringify(target.at.threadId)} and ${JSON.stringify(side.at.threadId)}`;
    if (base === undefined) throw refused(`${threads} have no checkpoint in common`);
    const { checkpointId } = side.at;
    if (
      base.checkpointId === checkpointId ||
      inputs.some((input) => input.side.at.checkpointId === checkpointId)
    )
      continue;
    if (base.threadId === undefined)
      throw refused(`the merge base ${base.checkpointId} of ${threads} was pruned`);
    const at = { threadId: base.threadId, checkpointId: base.checkpointId };
    inputs.push({
      base: await readSide(graph, saver, at),
      side,
      line: lineFrom(history, base.checkpointId, side),
    });
    lines.push(lineFrom(history, base.checkpointId, target));
  }
  return { inputs, lines };
}

/** The checkpoints that led from a base to a side by first parents, oldest first, without the base. */
function lineFrom({ nodes }: History, base: string, { at }: Side): CheckpointRecord[] {
  const line: CheckpointRecord[] = [];
  for (let next = nodes.get(at.checkpointId); next !== undefined && next.checkpointId !== base;) {
    line.unshift(next.record);
    const [parent] = next.parents;
    next = parent === undefined ? undefined : nodes.get(parent);
  }
  return line;
}
