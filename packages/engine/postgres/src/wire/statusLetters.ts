import type { ThreadStatus } from "@stratigraph/core";
import type { WritesOutcome } from "@stratigraph/core/tier";

/** What threads.status has for each status. */
export const statusLetters: Readonly<Record<ThreadStatus, string>> = {
  waiting: "w",
  failed: "f",
  interrupted: "d",
  idle: "i",
};

/** What writes.outcome has for each outcome. */
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
export function statusOf(letter: unknown): ThreadStatus | undefined {
  return statuses.get(String(letter));
}
