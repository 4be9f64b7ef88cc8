import { InvalidOptionError } from "@stratigraph/core";
import { writerIn, type Writer } from "@stratigraph/journal/internal";

/** Longest reason, in UTF-16 units. */
const longestReason = 2000;

/** Who made a change: the agent that the workspace names, or else LangChain, and the task of a graph that it ran in. */
export type Author = Writer;

/** What the log says of a change. */
export interface Note {
  readonly author: Author;
  readonly reason?: string | undefined;
}

/** The text of a note on a change that is made now. @throws InvalidOptionError */
export function noteText(agent: string | undefined, reason: string | undefined): string {
  const author = { ...writerIn(), ...(agent !== undefined && { agent }) };
  return JSON.stringify({ author, reason: checkedReason(reason) } satisfies Note);
}

export function noteOf(text: string): Note {
  return JSON.parse(text) as Note;
}

function checkedReason(reason: unknown): string | undefined {
  if (reason === undefined) return undefined;
  // JSON keeps half an emoji as an escape, so any text comes back as it was given.
  if (typeof reason === "string" && reason.length > 0 && reason.length <= longestReason) return reason;
  const found = typeof reason === "string" ? `${reason.length} characters` : reason;
  throw new InvalidOptionError("reason", found, `Pass text of 1 to ${longestReason} characters.`);
}
