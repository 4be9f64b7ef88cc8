import { InvalidOptionError } from "@stratigraph/core";
import type { JournalOptions } from "../options.ts";

/** Longest name of an author that is kept, in UTF-16 units. */
const longestAuthor = 200;

/** Who makes the calls of a run. @throws InvalidOptionError */
export function authorIn(author: JournalOptions["author"], config: unknown): string | undefined {
  const name: unknown = typeof author === "function" ? author(config) : author;
  if (name === undefined) return undefined;
  if (typeof name !== "string")
    throw new InvalidOptionError("author", name, "Pass a name, or a function that gives one.");
  return name.toWellFormed().slice(0, longestAuthor);
}
