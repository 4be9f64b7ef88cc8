import type { PlannedConflict } from "@stratigraph/branch";
import { z } from "zod";
import { redactedText, type Redaction } from "../values/redaction.ts";

/** How many characters of a value are shown at most. */
const mostShown = 2000;

const value = z.string().describe("JSON, cut where it is long.");

/** A conflict as output: as in a plan, with values as texts. */
export const conflictShape = z.object({
  name: z.string(),
  kind: z.enum(["state", "delta", "control", "untracked"]),
  source: z.number().describe("Which of the sources met it."),
  reason: z.string(),
  base: value,
  ours: value,
  theirs: value,
});

/**
 * A conflict to be shown. A side with a redacted part is left out as a whole. So is the reason for the conflict, because it may
 * repeat names and ids.
 */
export function shownConflict(
  { base, ours, theirs, reason, ...conflict }: PlannedConflict,
  redaction: Redaction,
): z.input<typeof conflictShape> {
  const text = (given: unknown): string => {
    const json = JSON.stringify(given);
    if (json === undefined) return "no value";
    const left = JSON.stringify(redaction.apply(conflict.name, JSON.parse(json)));
    return left === json ? cut(json) : redactedText;
  };
  const sides = { base: text(base), ours: text(ours), theirs: text(theirs) };
  const isWhole = !Object.values(sides).includes(redactedText);
  return { ...conflict, ...sides, reason: isWhole ? reason : `both sides changed it ${redactedText}` };
}

function cut(text: string): string {
  return text.length <= mostShown ? text : `${text.slice(0, mostShown)}… (${text.length} characters)`;
}
