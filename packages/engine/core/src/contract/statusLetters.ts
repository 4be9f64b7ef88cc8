import type { ThreadStatus, WritesOutcome } from "./threadStatus.ts";

/** How tiers store each status. */
export const statusLetters: Readonly<Record<ThreadStatus, string>> = {
  waiting: "w",
  failed: "f",
  interrupted: "d",
  idle: "i",
};

/** How tiers store each outcome. */
export const outcomeLetters: Readonly<Record<WritesOutcome, string>> = {
  waiting: "w",
  failed: "f",
  answered: "a",
  "all-answered": "A",
  ended: "e",
  nothing: "n",
};

const statuses = new Map(
  Object.entries(statusLetters).map(([status, letter]) => [letter, status as ThreadStatus]),
);

/** The status that a letter stands for. Undefined for null, and for a letter of a newer version. */
export function statusOfLetter(letter: unknown): ThreadStatus | undefined {
  return statuses.get(String(letter));
}
