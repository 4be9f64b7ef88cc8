import { InvalidOptionError } from "@stratigraph/core";
import { checkOptions, didYouMean } from "@stratigraph/core/internal";
import { checkChoice } from "./checkChoice.ts";
import { kindOfValue } from "./checkSaver.ts";
import type { Answers, MergePlan } from "./mergePlan.ts";

/**
 * Refuses wrong answers. An unknown side would leave the channel without a value, and an answer for a channel that the plan doesn't
 * have would be ignored.
 * @throws InvalidOptionError that names the channel, what was found and what to do
 */
export function checkAnswers(plan: MergePlan, answers: unknown): asserts answers is Answers {
  const advice = 'Answer with "base", "ours", "theirs" or { value }.';
  if (typeof answers !== "object" || answers === null || Array.isArray(answers))
    throw new InvalidOptionError(
      "answers",
      kindOfValue(answers),
      `Pass an answer per channel: { channel: answer }. ${advice}`,
    );
  const names = [...new Set(plan.channels.map(({ name }) => name))];
  for (const [channel, answer] of Object.entries(answers as Record<string, unknown>)) {
    const field = `answers.${channel}`;
    if (!names.includes(channel)) {
      const meant = didYouMean(channel, names);
      const said = `The plan has no such channel.${meant === undefined ? "" : ` ${meant}`} Its channels: ${names.join(", ") || "none"}.`;
      throw new InvalidOptionError(field, typeof answer === "string" ? answer : kindOfValue(answer), said);
    }
    if (answer === undefined) continue;
    if (typeof answer !== "object" || answer === null || Array.isArray(answer)) {
      checkChoice(field, answer, ["base", "ours", "theirs"], advice);
      continue;
    }
    if (!Object.hasOwn(answer, "value"))
      throw new InvalidOptionError(field, "an object without value", advice);
    checkOptions<{ value: unknown }>(field, answer as { value: unknown }, { value: true });
  }
}

/** Refuses anything that isn't a plan made by {@link merge}. @throws InvalidOptionError */
export function checkPlan(plan: unknown): asserts plan is MergePlan {
  const given = Object(plan) as Partial<MergePlan> & { plan?: unknown; status?: unknown };
  if (given.status !== undefined) {
    const found = `a result with status ${JSON.stringify(given.status)}`;
    const advice =
      given.plan === undefined ? "It needs no answers: there is no plan." : "Pass its plan: result.plan.";
    throw new InvalidOptionError("plan", found, advice);
  }
  const whole =
    Array.isArray(given.sources) && Array.isArray(given.channels) && typeof given.target === "object";
  if (!whole)
    throw new InvalidOptionError("plan", kindOfValue(plan), "Pass the plan of a merge: result.plan.");
  if (given.version !== 1)
    throw new InvalidOptionError(
      "plan.version",
      String(given.version),
      "This version reads plans of version 1. Merge again for a new plan.",
    );
}
