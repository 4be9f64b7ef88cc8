import type { Operation } from "../operations/index.ts";
import { InvalidOptionError } from "stratigraph";
import { canAsk, writeLine, type Terminal } from "./terminal.ts";

/**
 * Says what an operation would delete, and asks whether it may.
 * @param planned the operation's output in a dry run
 * @throws InvalidOptionError if nobody can be asked
 */
export async function confirmDestruction(
  operation: Operation,
  planned: unknown,
  terminal: Terminal,
): Promise<boolean> {
  for (const line of operation.render(planned as never)) await writeLine(terminal.stderr, line);
  if (!canAsk(terminal)) {
    throw new InvalidOptionError(
      "yes",
      undefined,
      `${operation.name} deletes something for good, and nobody is there to be asked: add --yes.`,
    );
  }
  const { confirm, isCancel } = await import("@clack/prompts");
  const answer = await confirm({
    message: `${operation.name}: do it? It can't be undone.`,
    initialValue: false,
    input: terminal.stdin,
    output: terminal.stderr,
  });
  if (!isCancel(answer) && answer) return true;
  await writeLine(terminal.stderr, "Nothing was done.");
  return false;
}
