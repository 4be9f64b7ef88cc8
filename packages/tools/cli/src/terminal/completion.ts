import type { Command } from "commander";

/** The command by which shells ask for suggestions, and the one by which people ask for the script. */
const asked = new Set(["complete", "completion"]);

/**
 * Adds the command that prints a completion script for a shell, and the hidden one that the script calls. The library that does the work is
 * loaded only for these two.
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
