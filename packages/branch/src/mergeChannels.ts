import type { TierSaver } from "@stratigraph/core";
import { channelsOf, kindOf, type MergeableGraph } from "./graphLike.ts";
import type { HistoryNode } from "./history.ts";
import type { Answers, PlannedConflict } from "./mergePlan.ts";
import { jsonValue, sameValue } from "./plainValue.ts";
import { reduced, stepsOf, type Steps } from "./replayWrites.ts";
import type { Side } from "./mergeSide.ts";
import { beganAt, type Strategy } from "./strategy.ts";
import { isUniqueTopic, unionTopic } from "./unionTopic.ts";
import { idOf, unionValues, type Union, type UnionOrder } from "./unionValues.ts";

/** How a channel came by its merged value. */
export type Outcome = "unchanged" | "same" | "ours" | "theirs" | "union" | "reducer" | "function" | "answer";

/** One source with its merge base. */
export interface MergeInput {
  readonly base: Side;
  readonly side: Side;
  /** What led to the source and not to the target, and the other way round; parents before children. */
  readonly line: readonly HistoryNode[];
  readonly targetLine: readonly HistoryNode[];
}

/** State values after merging all sources into the target's. */
export interface MergedChannels {
  readonly values: ReadonlyMap<string, unknown>;
  readonly outcomes: ReadonlyMap<string, Outcome>;
  readonly conflicts: readonly PlannedConflict[];
}

/** Merges sources one after another, each against its own base. Writes nothing. */
export async function mergeChannels(
  graph: MergeableGraph,
  saver: TierSaver,
  target: Side,
  nodes: ReadonlyMap<string, HistoryNode>,
  inputs: readonly MergeInput[],
  settle: { strategy: (channel: string) => Strategy | undefined; answers: Answers },
): Promise<MergedChannels> {
  const specs = channelsOf(graph);
  const values = new Map(target.values);
  const outcomes = new Map<string, Outcome>();
  const conflicts: PlannedConflict[] = [];
  const taken = new Map<string, Map<string, string>>();
  for (const [index, { base, side, line, targetLine }] of inputs.entries()) {
    const steps = once(() => stepsOf(saver, nodes, line));
    for (const name of new Set([...base.values.keys(), ...values.keys(), ...side.values.keys()])) {
      const sides = { base: base.values.get(name), ours: values.get(name), theirs: side.values.get(name) };
      const kind = kindOf(name, specs.get(name));
      const order: UnionOrder = {
        ours: beganAt(targetLine, target),
        theirs: beganAt(line, side),
        taken: taken.get(name) ?? new Map<string, string>(),
      };
      taken.set(name, order.taken);
      const settled = await mergeOne(name, sides, { specs, steps, order, settle });
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

type Settled = { readonly value: unknown; readonly outcome: Outcome } | { readonly unsettled: string };

async function mergeOne(
  name: string,
  sides: { base: unknown; ours: unknown; theirs: unknown },
  with_: {
    specs: ReturnType<typeof channelsOf>;
    steps: () => Promise<Steps | undefined>;
    order: UnionOrder;
    settle: { strategy: (channel: string) => Strategy | undefined; answers: Answers };
  },
): Promise<Settled> {
  const { base, ours, theirs } = sides;
  if (sameValue(theirs, base)) return { value: ours, outcome: sameValue(ours, base) ? "unchanged" : "ours" };
  if (sameValue(ours, base)) return { value: theirs, outcome: "theirs" };
  const strategy = with_.settle.strategy(name) ?? (haveIds(ours, theirs) ? "union" : "manual");
  // Two sides that each added one have the same sum, and added two: a reducer is asked all the same.
  const same = sameValue(ours, theirs);
  if (same && typeof strategy !== "function" && strategy !== "reducer")
    return { value: ours, outcome: "same" };
  const answer = Object.hasOwn(with_.settle.answers, name) ? with_.settle.answers[name] : undefined;
  if (answer !== undefined)
    return { value: typeof answer === "object" ? answer.value : sides[answer], outcome: "answer" };
  if (typeof strategy === "function")
    return { value: await strategy({ name, ...sides }), outcome: "function" };
  const as = (outcome: Outcome, settled: Union): Settled =>
    "value" in settled ? { ...settled, outcome } : settled;
  switch (strategy) {
    case "ours":
      return { value: ours, outcome: "ours" };
    case "theirs":
      return { value: theirs, outcome: "theirs" };
    case "union":
      return as(
        "union",
        isUniqueTopic(with_.specs.get(name))
          ? unionTopic(sides, with_.order)
          : unionValues(sides, with_.order),
      );
    case "reducer": {
      const spec = with_.specs.get(name);
      if (spec === undefined) return { unsettled: "the graph has no such channel, so no reducer" };
      return as("reducer", reduced(spec, name, sides, await with_.steps()));
    }
    case "manual":
      return { unsettled: "both sides changed it" };
  }
}

/** Whether both sides are lists of items with ids: messages, mostly. */
function haveIds(ours: unknown, theirs: unknown): boolean {
  if (!Array.isArray(ours) || !Array.isArray(theirs)) return false;
  return [...ours, ...theirs].every((item) => idOf(item) !== undefined);
}

function once<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined;
  return () => (made ??= make());
}
