import { InvalidOptionError } from "@stratigraph/core";
import { operations, type Access, type Operation, type OperationName } from "../operations/index.ts";

/** How many tools a server offers at most: a model chooses badly among more, and each costs tokens in every conversation. */
const mostTools = 15;

const reading = [
  "threads",
  "inbox",
  "history",
  "show",
  "diff",
  "blame",
  "why",
  "writes",
  "calls",
  "questions",
  "verify",
  "stats",
] as const satisfies readonly OperationName[];

/** Without "stats" and "inbox", so that there aren't too many. */
const writing = [
  ...reading.filter((name) => name !== "stats" && name !== "inbox"),
  "fork",
  "merge",
  "promote",
  "run",
  "answer",
] as const satisfies readonly OperationName[];

/** Operations on the storage that is shown. The others read and write files, and connect to any address; and those whose pages never end. */
const possible: readonly Operation[] = operations.filter(
  ({ group, endless }) => group !== "transfer" && endless !== true,
);

/** The operations that a client gets as tools, in the order of the table. @param names what the server was told to offer */
export function toolsFor(
  allow: readonly Access[],
  hasGraphs: boolean,
  names: readonly string[] | undefined,
): readonly Operation[] {
  const wanted: readonly string[] = names ?? (allow.includes("write") ? writing : reading);
  return possible.filter(
    ({ name, effect }) => wanted.includes(name) && allow.includes(effect) && (name !== "run" || hasGraphs),
  );
}

/** @throws InvalidOptionError if a name is unknown, or there are too many */
export function checkTools(names: readonly string[] | undefined): void {
  if (names === undefined) return;
  const known = possible.map(({ name }) => name);
  for (const name of names)
    if (!known.includes(name))
      throw new InvalidOptionError(
        "tools",
        name,
        `There is no such operation. Choose from ${known.join(", ")}.`,
      );
  if (names.length > mostTools)
    throw new InvalidOptionError(
      "tools",
      `${names.length} names`,
      `Name ${mostTools} at most: a model chooses badly among more.`,
    );
}
