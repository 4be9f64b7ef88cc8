import { shown } from "@stratigraph/operations";
import { StratigraphError } from "stratigraph";

/** Where each error code is explained. */
const errorsPage = "https://github.com/stratigraph/stratigraph/blob/main/packages/core/ERRORS.md";

/** What an error says to a person: its code, its message, and where more about it stands; with `verbose` also causes and stacks. */
export function explain(error: unknown, verbose: boolean): string {
  if (!(error instanceof Error)) return `error: ${shown(String(error))}`;
  const isOurs = StratigraphError.is(error);
  // A message may have several lines of ours, and ids with control characters of others.
  const message = error.message.split("\n").map(shown).join("\n");
  const lines = [`error${isOurs ? ` ${error.code}` : ""}: ${message}`];
  if (isOurs) lines.push(`  ${errorsPage}#${error.code.toLowerCase()}`);
  if (verbose) lines.push(...stacksOf(error));
  else if (!isOurs) lines.push("  --verbose shows where it came from.");
  return lines.join("\n");
}

function stacksOf(error: Error): string[] {
  const { stack = "", cause } = error;
  return cause instanceof Error ? [stack, "caused by:", ...stacksOf(cause)] : [stack];
}
