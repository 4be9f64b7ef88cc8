import { existsSync } from "node:fs";
import { Option, type Command } from "commander";
import { InvalidOptionError } from "stratigraph";
import { shown } from "../operations/render/columns.ts";
import { changedLines } from "./clients/changedLines.ts";
import { readClientFile, writeClientFile } from "./clients/clientFile.ts";
import { clients, fileOf, signsOf, type Client, type Places } from "./clients/clients.ts";
import { planChange, type Change } from "./clients/planChange.ts";
import { installedIn, serverEntry, startsElsewhere, type GivenOption } from "./clients/serverEntry.ts";
import { isAgreed } from "./confirm.ts";
import { exitCodes, type ExitCode } from "./exitCodes.ts";
import { formatOf, type Settings } from "./settings.ts";
import { canAsk, writeLine, type Terminal } from "./terminal.ts";

/** Options of the command. */
interface InstallFlags {
  readonly client?: string;
  readonly global?: boolean;
  readonly name: string;
  readonly remove?: boolean;
  readonly dryRun?: boolean;
}

/** What the command did, or would do. */
interface Installed {
  readonly client: string;
  readonly file: string;
  readonly name: string;
  readonly action: Change["action"];
  readonly lines: readonly string[];
  readonly written: boolean;
}

/** The settings of every command that the server gets, too. The others are about this command's own output. */
const passedOn: ReadonlySet<string> = new Set(["config", "url", "env", "readOnly", "redact"]);

/**
 * Adds the command that writes the server into the configuration of a client. It isn't an operation, because it needs no storage.
 * @param mcp the command that serves MCP: its options that are given here are the server's
 */
export function addMcpInstall(
  mcp: Command,
  program: Command,
  terminal: Terminal,
  ended: (code: ExitCode) => void,
): void {
  const examples = [
    "--client claude-code",
    "--client cursor --global --config ./stratigraph.config.ts",
    "--client vscode --dry-run",
    "--client codex --remove",
  ];
  const command = mcp
    .command("install")
    .summary("Write this server into the configuration of an MCP client.")
    .description(
      "Write this server into the configuration of an MCP client. Shows what it will write, and asks. The server gets the settings that are given here.",
    )
    .addOption(
      new Option("--client <name>", "the client; default: asks which of those on this machine").choices(
        clients.map(({ name }) => name),
      ),
    )
    .option("--global", "the client's file for all projects, not the one of this folder")
    .option("--name <name>", "the server's name in the client", "stratigraph")
    .option("--remove", "take the server out of the file again")
    .option("--dry-run", "only show what would be written")
    .configureHelp({ showGlobalOptions: true })
    .addHelpText(
      "after",
      ["", "Examples:", ...examples.map((each) => `  stratigraph mcp install ${each}`)].join("\n"),
    )
    .action(async () => {
      const given = [...givenTo(program, passedOn), ...givenTo(mcp)];
      ended(await install(command.opts<InstallFlags>(), given, program.opts<Settings>(), terminal));
    });
}

async function install(
  flags: InstallFlags,
  given: readonly GivenOption[],
  settings: Settings,
  terminal: Terminal,
): Promise<ExitCode> {
  const { name, remove = false, dryRun = false, global = false } = flags;
  // Clients make parts of tools' names of it.
  if (!/^[a-z][\w-]{0,63}$/i.test(name))
    throw new InvalidOptionError("name", name, "Write a letter, then at most 63 letters, digits, - and _.");
  const places: Places = { platform: process.platform, env: terminal.env, cwd: terminal.cwd };
  const client = await chosen(flags.client, places, terminal);
  if (client === undefined) return exitCodes.failed;
  const entry = remove ? undefined : serverEntry(client, places, global, given);
  const file = await readClientFile(fileOf(client, places, global));
  const change = planChange(client, file, name, entry);
  const planned: Installed = {
    client: client.name,
    file: file.path,
    name,
    action: change.action,
    lines: changedLines(file.text, change.text),
    written: false,
  };
  const { stderr } = terminal;
  const isQuiet = settings.quiet === true;
  const isTable = formatOf(settings) === "table";
  const plan = linesOf(planned, client, remove);
  const hints = remove || isQuiet ? [] : hintsOf(client, places, global, given);
  if (dryRun || change.action === "none") {
    await report(planned, plan, settings, terminal);
    return exitCodes.done;
  }
  if (settings.yes !== true || (isTable && !isQuiet))
    for (const line of [...plan, ...hints]) await writeLine(stderr, line);
  const unasked = "This would be written, and nobody is there to be asked: add --yes.";
  if (settings.yes !== true && !(await isAgreed(terminal, unasked, "Write it?", "Nothing was written.")))
    return exitCodes.failed;
  await writeClientFile(file, change.text);
  await report({ ...planned, written: true }, [`${shown(file.path)} was written.`], settings, terminal);
  if (isTable && !isQuiet) await writeLine(stderr, `${client.title} sees it after a restart.`);
  return exitCodes.done;
}

/** The client that was named, or that a person chooses. @throws InvalidOptionError if nobody can be asked */
async function chosen(
  named: string | undefined,
  places: Places,
  terminal: Terminal,
): Promise<Client | undefined> {
  if (named !== undefined) return clients.find(({ name }) => name === named);
  const found = clients.filter((client) => signsOf(client, places).some((path) => existsSync(path)));
  if (!canAsk(terminal)) {
    const here = found.length === 0 ? "None was found here" : `Found here: ${found.map(nameOf).join(", ")}`;
    const all = clients.map(nameOf).join(", ");
    throw new InvalidOptionError("client", undefined, `Name one with --client. ${here}. Known: ${all}.`);
  }
  const { isCancel, select } = await import("@clack/prompts");
  const offered = [...found, ...clients.filter((client) => !found.includes(client))];
  const answer = await select<Client>({
    message: "Which client?",
    options: offered.map((value) => ({
      value,
      label: value.title,
      ...(found.includes(value) ? { hint: "found here" } : {}),
    })),
    input: terminal.stdin,
    output: terminal.stderr,
  });
  return isCancel(answer) ? undefined : answer;
}

function nameOf({ name }: Client): string {
  return name;
}

/** The options of a command that were given to it. */
function givenTo(command: Command, only?: ReadonlySet<string>): GivenOption[] {
  return command.options.flatMap((option) => {
    const name = option.attributeName();
    const source = command.getOptionValueSource(name);
    const isGiven = source === "cli" || source === "env";
    const flag = option.long;
    if (!isGiven || flag === undefined || flag === null || (only !== undefined && !only.has(name))) return [];
    const value: unknown = command.getOptionValue(name);
    if (typeof value === "boolean") return value === option.negate ? [] : [{ flag }];
    return (Array.isArray(value) ? value : [value]).map((each) => ({ flag, value: String(each) }));
  });
}

function hintsOf(client: Client, places: Places, global: boolean, given: readonly GivenOption[]): string[] {
  const hints: string[] = [];
  const hasStorage = given.some(({ flag }) => flag === "--config" || flag === "--url");
  if (!hasStorage && startsElsewhere(client, global))
    hints.push(
      `${client.title} doesn't start the server in this folder, where it would find a config file: add --config or --url.`,
    );
  if (installedIn(places) === undefined)
    hints.push(
      "The server's package isn't installed in this folder: npm install --save-dev stratigraph @stratigraph/cli",
    );
  return hints;
}

async function report(
  done: Installed,
  lines: readonly string[],
  settings: Settings,
  { stdout }: Terminal,
): Promise<void> {
  const format = formatOf(settings);
  if (format === "json") await writeLine(stdout, JSON.stringify(done, null, 2));
  else if (format === "jsonl") await writeLine(stdout, JSON.stringify(done));
  else for (const line of lines) await writeLine(stdout, line);
}

/** The plan for a person. */
function linesOf({ action, file, name, lines }: Installed, { title }: Client, remove: boolean): string[] {
  const where = `${shown(file)} (${title})`;
  if (action === "none")
    return [remove ? `There is no ${name} in ${where}.` : `${name} is already there: ${where}.`];
  const verb = { add: "Add", change: "Change", remove: "Remove" }[action];
  return [`${verb} ${name} in ${where}:`, ...lines.map((line) => `  ${shown(line)}`)];
}
