import type { Command } from "commander";

/** What shells ask a program for suggestions by, and what people ask it for the script by. */
const asked = new Set(["complete", "completion"]);

/**
 * Adds the command that prints a completion script for a shell, and the hidden one that the script calls. What does the work is only loaded
 * for them.
 */
export async function addCompletion(program: Command, argv: readonly string[]): Promise<void> {
  const name = argv.find((word) => !word.startsWith("-"));
  if (name !== undefined && asked.has(name)) {
    const { default: tab } = await import("@bomb.sh/tab/commander");
    tab(program, { completionCommandName: "completion" });
    return;
  }
  program
    .command("completion")
    .argument("<shell>", "bash, zsh, fish or powershell")
    .description("Print a script that completes commands and options in a shell.");
}
