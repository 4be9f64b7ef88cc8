import type { ChannelSpec } from "./langgraph.ts";
import { mergeByReducer } from "./mergeByReducer.ts";
import type { Answers } from "./mergePlan.ts";
import { sameValue } from "./plainValue.ts";
import type { StepWrites } from "./readStepWrites.ts";
import type { Strategy } from "./strategy.ts";
import type { ThreeWay, Union, UnionOrder } from "./union.ts";
import { idOf } from "./unionById.ts";
import { isUniqueTopic, unionTopic } from "./unionTopic.ts";
import { unionValues } from "./unionValues.ts";

/** Where a channel's merged value comes from. */
export type Outcome = "unchanged" | "same" | "ours" | "theirs" | "union" | "reducer" | "function" | "answer";

/** How channels that both sides changed are settled. */
export interface Settling {
  readonly strategy: (channel: string) => Strategy | undefined;
  readonly answers: Answers;
}

/** What is needed to settle one channel. */
interface ChannelSettling extends Settling {
  /** Undefined if the graph has no such channel. */
  readonly spec: ChannelSpec | undefined;
  readonly order: UnionOrder;
  /** Reads the writes of the source's steps. Called only if a reducer needs them. */
  readonly steps: () => Promise<StepWrites | undefined>;
}

/** The merged value of a channel, or why nothing settles it. */
export type Settled = { readonly value: unknown; readonly outcome: Outcome } | { readonly unsettled: string };

/**
 * Merges one channel. If only one side changed the value, the merged value is that side's. If both changed it, the channel's strategy or
 * a person's answer settles it. Without a strategy, lists of messages (and of other items with ids) are merged by {@link unionById},
 * and everything else is a conflict.
 */
export async function mergeChannel(
  name: string,
  sides: ThreeWay,
  { strategy: strategyOf, answers, spec, order, steps }: ChannelSettling,
): Promise<Settled> {
  const { base, ours, theirs } = sides;
  if (sameValue(theirs, base)) return { value: ours, outcome: sameValue(ours, base) ? "unchanged" : "ours" };
  if (sameValue(ours, base)) return { value: theirs, outcome: "theirs" };
  if (spec?.joinsSides === true) {
    const channel = spec.fromCheckpoint();
    channel.update([ours, theirs]);
    return { value: channel.checkpoint(), outcome: "reducer" };
  }
  const strategy = strategyOf(name) ?? (haveIds(ours, theirs) ? "union" : "manual");
  // Equal values don't always settle a channel: if each side added one to a counter, a reducer adds two.
  const same = sameValue(ours, theirs);
  if (same && typeof strategy !== "function" && strategy !== "reducer")
    return { value: ours, outcome: "same" };
  const answer = Object.hasOwn(answers, name) ? answers[name] : undefined;
  if (answer !== undefined)
    return { value: typeof answer === "object" ? answer.value : sides[answer], outcome: "answer" };
  if (typeof strategy === "function")
    return { value: await strategy({ name, ...sides }), outcome: "function" };
  switch (strategy) {
    case "ours":
      return { value: ours, outcome: "ours" };
    case "theirs":
      return { value: theirs, outcome: "theirs" };
    case "union":
      return settledBy("union", isUniqueTopic(spec) ? unionTopic(sides, order) : unionValues(sides, order));
    case "reducer":
      if (spec === undefined) return { unsettled: "the graph has no such channel, so no reducer" };
      return settledBy("reducer", mergeByReducer(spec, name, sides, await steps()));
    case "manual":
      return { unsettled: "both sides changed it" };
  }
}

function settledBy(outcome: Outcome, union: Union): Settled {
  return "value" in union ? { ...union, outcome } : union;
}

/** Whether both sides are lists of items with ids, such as messages. */
function haveIds(ours: unknown, theirs: unknown): boolean {
  if (!Array.isArray(ours) || !Array.isArray(theirs)) return false;
  return [...ours, ...theirs].every((item) => idOf(item) !== undefined);
}
