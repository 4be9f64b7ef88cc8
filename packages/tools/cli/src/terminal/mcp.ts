import { appendFile } from "node:fs/promises";
import { resolve } from "node:path";
import type { Readable, Writable } from "node:stream";
import type { Command } from "commander";
import type { McpAudit } from "../mcp/index.ts";
import { messageOf } from "@stratigraph/core/internal";
import { InvalidOptionError, type LoadedConfig } from "stratigraph";
import { allowFlag } from "./allowed.ts";
import type { ExitCode } from "./exitCodes.ts";
import { addMcpInstall } from "./mcpInstall.ts";
import { serve } from "./serve.ts";
import { servedOf } from "./servedOf.ts";
import type { Settings } from "./settings.ts";
import type { Terminal } from "./terminal.ts";

/** Options of the command. */
interface McpFlags {
  readonly allow?: readonly string[];
  readonly threads?: readonly string[];
  readonly tools?: readonly string[];
  readonly audit?: string;
  readonly workspace?: string;
  readonly agent?: string;
}

const examples = [
  "mcp",
  "mcp --allow write",
  "mcp --workspace team --agent planner --allow write",
  "mcp --threads acme/",
  "mcp --tools threads,show,delete --allow destroy",
];

/** Adds the command that serves MCP over stdio. It isn't an operation, but another interface to operations. */
export function addMcp(program: Command, terminal: Terminal, ended: (code: ExitCode) => void): void {
  const several = (text: string, before: readonly string[] = []) => [...before, ...text.split(",")];
  const command = program
    .command("mcp")
    .summary("Serve threads to an MCP client, such as an editor or an agent, over stdin and stdout.")
    .description(
      "Serve the storage to one MCP client over stdin and stdout, until the client closes them. It only reads, unless --allow says more. Clients start it themselves; over HTTP, inspect serves the same at /mcp.",
    )
    .option(
      "--allow <effects>",
      "what the client may do besides reading: write, destroy, or both with a comma between",
      allowFlag,
    )
    .option(
      "--threads <prefix>",
      "only threads whose ids begin so; may be repeated",
      (text: string, before: readonly string[] = []) => [...before, text],
    )
    .option(
      "--tools <names>",
      "which operations are offered as tools, with commas between; 15 at most",
      several,
    )
    .option("--audit <file>", "append an entry per call to this file, as JSON lines (default: to stderr)")
    .option("--workspace <name>", "serve this workspace's memory and prompts, in the place of threads")
    .option("--agent <name>", "who acts in the workspace: the author of what is put")
    .helpGroup("Look:")
    .configureHelp({ showGlobalOptions: true })
    .addHelpText("after", ["", "Examples:", ...examples.map((each) => `  stratigraph ${each}`)].join("\n"))
    .action(async () => {
      ended(await serveMcp(command.opts<McpFlags>(), program.opts<Settings>(), terminal));
    });
  addMcpInstall(command, program, terminal, ended);
}

async function serveMcp(flags: McpFlags, settings: Settings, terminal: Terminal): Promise<ExitCode> {
  return await serve("mcp", flags.allow, settings, terminal, async ({ opened, config, allow }) => {
    // A client that closes its end of the log goes without it; one that closes stdout has gone, which the transport notices.
    if (terminal.brokenPipe !== undefined) terminal.brokenPipe.isHandled = true;
    if (flags.audit !== undefined) await checkAudit(resolve(terminal.cwd, flags.audit));
    const { agent, workspace } = agentOf(flags);
    const { createMcp } = await import("../mcp/index.ts");
    const mcp = createMcp({
      ...servedOf(opened.context, config, settings, terminal),
      // A client shows little of why a server failed: its log does.
      onError: (error) => {
        const isLong = settings.verbose === true && error instanceof Error;
        terminal.stderr.write(`error: ${isLong ? error.stack : messageOf(error)}\n`);
      },
      allow,
      tools: flags.tools ?? config.mcp.tools,
      // One process at a time has an embedded database: an agent must be able to start while an editor is open.
      ...(isEmbedded(config) && workspace === undefined ? { onIdle: () => void opened.release() } : {}),
      audit: auditTo(settings, terminal, flags.audit),
    });
    const { threads } = flags;
    const grant = { name: agent, allow, ...(threads === undefined ? {} : { threads }) };
    const connection = mcp.serve(
      { stdin: terminal.stdin as Readable, stdout: terminal.stdout as Writable },
      grant,
      workspace,
    );
    const close = async (): Promise<void> => {
      await mcp.end();
      await connection.close();
    };
    return { closed: connection.closed, close };
  });
}

/** Whether the storage is a PGlite folder. */
function isEmbedded({ checkpointer }: LoadedConfig): boolean {
  return typeof checkpointer === "string" ? /^pglite:/i.test(checkpointer) : "pglite" in checkpointer;
}

/** @throws InvalidOptionError if only one of workspace and agent is named */
function agentOf({ agent, workspace }: McpFlags): { agent: string; workspace: string | undefined } {
  if (workspace === undefined && agent === undefined) return { agent: "stdio", workspace };
  if (agent !== undefined && workspace !== undefined) return { agent, workspace };
  throw new InvalidOptionError(
    agent === undefined ? "agent" : "workspace",
    "nothing",
    "Name both: --workspace team --agent planner.",
  );
}

/** How many bytes of entries wait at most for a client that doesn't read the log. */
const mostUnread = 2 ** 20;

/** Where audit entries go: a file, or else stderr, which clients keep as the server's log. */
export function auditTo(
  { quiet }: Settings,
  { stderr, cwd }: Terminal,
  file?: string,
): (entry: McpAudit) => Promise<void> {
  const path = file === undefined ? undefined : resolve(cwd, file);
  let dropped = 0;
  return async (entry) => {
    const line = `${JSON.stringify(entry)}\n`;
    if (path !== undefined) return await appendFile(path, line);
    if (quiet === true) return;
    if (stderr.writableLength > mostUnread) {
      dropped += 1;
      return;
    }
    if (dropped > 0) stderr.write(`${JSON.stringify({ dropped, why: "nobody read this log" })}\n`);
    dropped = 0;
    stderr.write(line);
  };
}

/** Learns at once, and not at the first call, that entries can't be written. @throws InvalidOptionError */
async function checkAudit(path: string): Promise<void> {
  try {
    await appendFile(path, "");
  } catch (error) {
    throw new InvalidOptionError("audit", path, `It can't be written: ${messageOf(error)}.`);
  }
}
