import { messageOf } from "@stratigraph/core/internal";
import { shown } from "../operations/render/columns.ts";
import { StratigraphError } from "stratigraph";

/** Where each error code is explained. */
const errorsPage = "https://github.com/stratigraph/stratigraph/blob/main/packages/engine/core/ERRORS.md";

/**
 * An error as text for a person: its code, its message, and where to read more; with `verbose` also causes and stacks.
 * @param written replaces the names of an operation's fields by those of the command line
 */
export function explain(
  error: unknown,
  verbose: boolean,
  written: (message: string) => string = (message) => message,
): string {
  if (!(error instanceof Error)) return `error: ${shown(String(error))}`;
  const isOurs = StratigraphError.is(error);
  // Our messages may have several lines, and contain ids from elsewhere with control characters.
  const message = written(error.message).split("\n").map(shown).join("\n");
  const hint = isOurs && error.code === "NOT_SET_UP" && /\bsetup\(\)/.test(message);
  const lines = [`error${isOurs ? ` ${error.code}` : ""}: ${message}`];
  if (hint) lines.push('  The command that calls setup() is "stratigraph setup".');
  if (isOurs) lines.push(`  ${helpOf(error)}`);
  if (verbose) lines.push(...stacksOf(error));
  else if (!isOurs) lines.push("  --verbose shows where it came from.");
  return lines.join("\n");
}

/** An error for a program that asked for JSON: one line, in the form of an error of the inspector's API. */
export function explainToProgram(error: unknown, written: (message: string) => string): string {
  const message = written(messageOf(error));
  if (!StratigraphError.is(error)) return JSON.stringify({ error: { message } });
  return JSON.stringify({ error: { code: error.code, message, help: helpOf(error) } });
}

function helpOf({ code }: StratigraphError): string {
  return `${errorsPage}#${code.toLowerCase()}`;
}

function stacksOf(error: Error): string[] {
  const { stack = "", cause } = error;
  return cause instanceof Error ? [stack, "caused by:", ...stacksOf(cause)] : [stack];
}
