import type { PlannedConflict } from "@stratigraph/branch";
import { z } from "zod";

/** Most characters of a value that are shown. */
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
 * A conflict to be shown.
 * @param redact paths of values that aren't shown. A channel that one of them may concern is left out as a whole
 */
export function shownConflict(
  { base, ours, theirs, ...conflict }: PlannedConflict,
  redact: readonly string[],
): z.input<typeof conflictShape> {
  const isHidden = redact.some((path) => ["*", conflict.name].includes(path.split(".", 1)[0]!));
  const text = (given: unknown): string =>
    isHidden ? "(redacted)" : cut(JSON.stringify(given) ?? "no value");
  return { ...conflict, base: text(base), ours: text(ours), theirs: text(theirs) };
}

function cut(text: string): string {
  return text.length <= mostShown ? text : `${text.slice(0, mostShown)}… (${text.length} characters)`;
}
