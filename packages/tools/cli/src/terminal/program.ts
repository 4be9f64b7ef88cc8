import { Command, CommanderError } from "commander";
import { operations, type Group, type Operation } from "../operations/index.ts";
import { addDev } from "./dev.ts";
import { addInit } from "./init.ts";
import { addInspect } from "./inspect.ts";
import { addMcp } from "./mcp.ts";
import { exitCodes, type ExitCode } from "./exitCodes.ts";
import { explain, explainToProgram } from "./explain.ts";
import { flagsOf, withFlags } from "./flags.ts";
import { inputFrom } from "./inputFrom.ts";
import { runCommand } from "./runCommand.ts";
import { addSettings, formatOf, type Settings } from "./settings.ts";
import type { Terminal } from "./terminal.ts";
import { version } from "../version.ts";

const headings: Readonly<Record<Group, string>> = {
  look: "Look:",
  change: "Change threads:",
  storage: "Storage:",
  transfer: "In and out:",
};

/** What is said of commands that others are below. */
const groups: Readonly<Record<string, string>> = {
  workspace: "Look at what agents share: items, their changes, who made them and why, who holds what.",
};

/**
 * Runs a command line.
 * @param argv the words after the program's name
 * @returns the exit code of the process
 */
export async function main(argv: readonly string[], terminal: Terminal): Promise<ExitCode> {
  let code: ExitCode = exitCodes.done;
  const program = programOf(terminal, (ended) => {
    code = ended;
  });
  try {
    await addCompletion(program, argv);
    await program.parseAsync([...argv], { from: "user" });
    return code;
  } catch (error) {
    // commander has already written its message.
    if (error instanceof CommanderError) return error.exitCode === 0 ? exitCodes.done : exitCodes.failed;
    const settings = program.opts<Settings>();
    const [first = "", second = ""] = program.args;
    const operation = operations.find(({ name }) => name === first || name === `${first}-${second}`);
    const written = (message: string): string =>
      operation === undefined ? message : withFlags(operation, message);
    const told =
      formatOf(settings) === "table"
        ? explain(error, settings.verbose === true, written)
        : explainToProgram(error, written);
    terminal.stderr.write(`${told}\n`);
    return exitCodes.failed;
  }
}

function programOf(terminal: Terminal, ended: (code: ExitCode) => void): Command {
  const program = new Command("stratigraph")
    .description("Look at, check, move and repair the checkpoints of LangGraph agents.")
    .version(version, "-V, --version", "the version of this program")
    .exitOverride()
    .configureOutput({
      writeOut: (text) => terminal.stdout.write(text),
      writeErr: (text) => terminal.stderr.write(text),
    })
    .showHelpAfterError("(--help shows what there is)");
  addSettings(program);
  for (const operation of operations) addOperation(program, operation, terminal, ended);
  addInspect(program, terminal, ended);
  addMcp(program, terminal, ended);
  addDev(program, terminal, ended);
  addInit(program, terminal, ended);
  return program;
}

function addOperation(
  program: Command,
  operation: Operation,
  terminal: Terminal,
  ended: (code: ExitCode) => void,
): void {
  const { args, options } = flagsOf(operation);
  const [first = "", second] = operation.name.split("-");
  const command = (second === undefined ? program : groupOf(program, first))
    .command(second ?? first)
    .summary(operation.summary)
    .description(operation.summary)
    .helpGroup(headings[operation.group])
    .configureHelp({ showGlobalOptions: true })
    .addHelpText(
      "after",
      ["", "Examples:", ...operation.examples.map((example) => `  ${example}`)].join("\n"),
    );
  for (const argument of args) command.addArgument(argument);
  for (const option of options) command.addOption(option);
  command.action(async () => {
    const given = await inputFrom(operation, command, terminal);
    ended(await runCommand(operation, given, program.opts<Settings>(), terminal));
  });
}

/** The command that others are below: `workspace`, of `workspace log`. */
function groupOf(program: Command, name: string): Command {
  const known = program.commands.find((command) => command.name() === name);
  if (known !== undefined) return known;
  const told = groups[name] ?? "";
  return program.command(name).summary(told).description(told).helpGroup(headings.look);
}

/** The command by which shells ask for suggestions, and the one by which people ask for the script. */
const asked = new Set(["complete", "completion"]);

/**
 * Adds the command that prints a completion script for a shell, and the hidden one that the script calls. The library that does the work is
 * loaded only for these two.
 */
async function addCompletion(program: Command, argv: readonly string[]): Promise<void> {
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
