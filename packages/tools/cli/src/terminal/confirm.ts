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
  const unasked = `${operation.name} deletes something for good, and nobody is there to be asked: add --yes.`;
  return await isAgreed(
    terminal,
    unasked,
    `${operation.name}: do it? It can't be undone.`,
    "Nothing was done.",
  );
}

/**
 * Asks whether something may be done; the default is no.
 * @param unasked what to say if nobody can be asked
 * @param declined what to say if the answer is no
 * @throws InvalidOptionError if nobody can be asked
 */
export async function isAgreed(
  terminal: Terminal,
  unasked: string,
  message: string,
  declined: string,
): Promise<boolean> {
  if (!canAsk(terminal)) throw new InvalidOptionError("yes", undefined, unasked);
  const { confirm, isCancel } = await import("@clack/prompts");
  const answer = await confirm({
    message,
    initialValue: false,
    input: terminal.stdin,
    output: terminal.stderr,
  });
  if (!isCancel(answer) && answer) return true;
  await writeLine(terminal.stderr, declined);
  return false;
}
