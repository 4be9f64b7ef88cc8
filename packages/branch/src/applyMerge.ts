import { StratigraphError } from "@stratigraph/core";
import { checkAnswers, checkPlan } from "./checkAnswers.ts";
import { saverOf, type MergeableGraph } from "./graphLike.ts";
import { checkMergeOptions, mergeWith, type MergeOptions, type MergeResult } from "./merge.ts";
import type { Answers, MergePlan } from "./mergePlan.ts";

/**
 * Merges as a plan and its answers say. Pass the strategies that settled the other channels again: functions can't be part of a
 * plan.
 * @throws InvalidOptionError where an answer isn't "base", "ours", "theirs" or { value }, or is for a channel that the plan doesn't
 * have; StratigraphError "MERGE_CONFLICT" where a channel of the plan has no answer; CheckpointConflictError where the target's
 * head moved since the plan was made (merge again for a new plan). Nothing was written then. Otherwise as {@link merge}
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
