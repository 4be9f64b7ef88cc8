import type { TierSaver } from "@stratigraph/core";
import { channelsOf, kindOf, type MergeableGraph } from "./graphLike.ts";
import type { HistoryNode } from "./history.ts";
import type { PlannedConflict } from "./mergePlan.ts";
import { jsonValue } from "./plainValue.ts";
import { readStepWrites } from "./readStepWrites.ts";
import type { MergeSide } from "./mergeSide.ts";
import { mergeChannel, type Outcome, type Settling } from "./mergeChannel.ts";
import { beganAt } from "./strategy.ts";
import type { UnionOrder } from "./union.ts";

/** One source with its merge base. */
export interface MergeSource {
  readonly base: MergeSide;
  readonly side: MergeSide;
  /** The checkpoints that led to the source and not to the target, parents before children. */
  readonly sourcePath: readonly HistoryNode[];
  /** The checkpoints that led to the target and not to the source, parents before children. */
  readonly targetPath: readonly HistoryNode[];
}

/** The values of the state channels after all sources were merged into the target. */
export interface MergedChannels {
  readonly values: ReadonlyMap<string, unknown>;
  readonly outcomes: ReadonlyMap<string, Outcome>;
  readonly conflicts: readonly PlannedConflict[];
}

/** Merges the sources into the target's values, one after another, each with its own merge base. Writes nothing. */
export async function mergeChannels(
  graph: MergeableGraph,
  saver: TierSaver,
  target: MergeSide,
  nodes: ReadonlyMap<string, HistoryNode>,
  inputs: readonly MergeSource[],
  settling: Settling,
): Promise<MergedChannels> {
  const specs = channelsOf(graph);
  const values = new Map(target.values);
  const outcomes = new Map<string, Outcome>();
  const conflicts: PlannedConflict[] = [];
  const taken = new Map<string, Map<string, string>>();
  for (const [index, { base, side, sourcePath, targetPath }] of inputs.entries()) {
    const steps = once(() => readStepWrites(saver, nodes, sourcePath));
    for (const name of new Set([...base.values.keys(), ...values.keys(), ...side.values.keys()])) {
      const sides = { base: base.values.get(name), ours: values.get(name), theirs: side.values.get(name) };
      const kind = kindOf(name, specs.get(name));
      const order: UnionOrder = {
        ours: beganAt(targetPath, target),
        theirs: beganAt(sourcePath, side),
        taken: taken.get(name) ?? new Map<string, string>(),
      };
      taken.set(name, order.taken);
      const settled = await mergeChannel(name, sides, { ...settling, spec: specs.get(name), order, steps });
      if ("unsettled" in settled) {
        const { base, ours, theirs } = sides;
        const json = { base: jsonValue(base), ours: jsonValue(ours), theirs: jsonValue(theirs) };
        conflicts.push({ name, kind, source: index, ...json, reason: settled.unsettled });
        continue;
      }
      if (settled.value === undefined) values.delete(name);
      else values.set(name, settled.value);
      if (settled.outcome !== "unchanged" || !outcomes.has(name)) outcomes.set(name, settled.outcome);
    }
  }
  return { values, outcomes, conflicts };
}

function once<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined;
  return () => (made ??= make());
}
