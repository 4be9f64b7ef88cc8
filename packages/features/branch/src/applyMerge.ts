import { StratigraphError } from "@stratigraph/core";
import { checkAnswers, checkPlan } from "./checkAnswers.ts";
import { saverOf, type MergeableGraph } from "./graphLike.ts";
import { checkMergeOptions, mergeWith, type MergeOptions, type MergeResult } from "./merge.ts";
import type { Answers, MergePlan } from "./mergePlan.ts";

/**
 * Carries out a merge with the answers to its plan. Pass the options of the merge again: a plan doesn't hold the strategies that
 * settled the other channels, because these may be functions.
 * @throws InvalidOptionError if an answer isn't "base", "ours", "theirs" or { value }, or is for a channel that the plan doesn't have;
 * StratigraphError "MERGE_CONFLICT" if a channel of the plan has no answer; CheckpointConflictError if the target's head has moved
 * since the plan was made (merge again for a new plan); otherwise as {@link merge}. Nothing was written in any of these cases
 */
export async function applyMerge(
  graph: MergeableGraph,
  plan: MergePlan,
  answers: Answers,
  options: MergeOptions = {},
): Promise<MergeResult> {
  saverOf("applyMerge", graph);
  checkPlan(plan);
  checkAnswers(plan, answers);
  checkMergeOptions("applyMerge", options);
  const open = plan.channels.filter(
    ({ name }) => !Object.hasOwn(answers, name) || answers[name] === undefined,
  );
  if (open.length > 0)
    throw unanswered(
      plan,
      open.map(({ name }) => name),
    );
  const { target, sources } = plan;
  const result = await mergeWith(graph, target.threadId, sources, options, {
    answers,
    expected: target.checkpointId,
  });
  if (result.status === "conflict")
    throw unanswered(
      result.plan,
      result.plan.channels.map(({ name }) => name),
    );
  return result;
}

function unanswered(plan: MergePlan, names: readonly string[]): StratigraphError {
  return new StratigraphError(
    "MERGE_CONFLICT",
    `Channels without an answer: ${names.join(", ")}. Nothing was written. Answer each with "base", "ours", "theirs" or { value }.`,
    { channels: plan.channels.filter(({ name }) => names.includes(name)) },
  );
}
