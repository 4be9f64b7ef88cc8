import { InvalidOptionError } from "@stratigraph/core";
import { writerIn, type Writer } from "@stratigraph/journal/internal";

/** Longest name of an agent and longest reason that are kept, in UTF-16 units. */
const longest = { agent: 200, reason: 2000 };

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
  return JSON.stringify({ author, reason: checkedText("reason", reason) } satisfies Note);
}

export function noteOf(text: string): Note {
  return JSON.parse(text) as Note;
}

/** @throws InvalidOptionError */
export function checkedText(field: keyof typeof longest, text: unknown): string | undefined {
  if (text === undefined) return undefined;
  if (typeof text === "string" && text.length > 0 && text.length <= longest[field])
    return text.toWellFormed();
  const found = typeof text === "string" ? `${text.length} characters` : text;
  throw new InvalidOptionError(field, found, `Pass text of 1 to ${longest[field]} characters.`);
}
