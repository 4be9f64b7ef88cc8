import type { Command } from "commander";
import { createCheckpointer, StratigraphError, type LoadedConfig } from "stratigraph";
import type { Access } from "../operations/index.ts";
import { isLoopback } from "../serving/guards/hosts.ts";
import { allowFlag } from "./allowed.ts";
import { exitCodes, type ExitCode } from "./exitCodes.ts";
import { serve } from "./serve.ts";
import { servedOf } from "./servedOf.ts";
import type { Settings } from "./settings.ts";
import { storageName } from "./storageText.ts";
import { writeLine, type Terminal } from "./terminal.ts";

/** Options of the command. */
interface DevFlags {
  readonly langgraph?: string;
  readonly port: number;
  readonly host: string;
  readonly inspectorPort?: number;
  readonly allow?: readonly string[];
}

/** How long what graphs have left open may keep the process alive, in milliseconds. */
const lingerMs = 500;

/** Adds the command that starts LangGraph's dev server on the storage of the config. */
export function addDev(program: Command, terminal: Terminal, ended: (code: ExitCode) => void): void {
  const examples = [
    "dev",
    "dev --port 2025",
    "dev --allow write",
    "dev --langgraph apps/chat/langgraph.json",
  ];
  const command = program
    .command("dev")
    .summary("Start LangGraph's dev server, for Studio, on this storage, with the inspector beside it.")
    .description(
      "Start the dev server of @langchain/langgraph-api with the graphs of langgraph.json, until Ctrl-C. Checkpoints and the store are in the storage of stratigraph.config. Prints the addresses of the API, of Studio and of the inspector.",
    )
    .option("--langgraph <file>", "the langgraph.json; default: that of the current folder")
    .option("--port <n>", "the port of LangGraph's API; 0: a free one", Number, 2024)
    .option("--host <host>", "the address that both listen on", "127.0.0.1")
    .option("--inspector-port <n>", "the port of the inspector; default: a free one", Number)
    .option(
      "--allow <effects>",
      "what the inspector's page may do besides reading: write, destroy, or both with a comma between",
      allowFlag,
    )
    .helpGroup("Look:")
    .configureHelp({ showGlobalOptions: true })
    .addHelpText("after", ["", "Examples:", ...examples.map((each) => `  stratigraph ${each}`)].join("\n"))
    .action(async () => {
      ended(await serveDev(command.opts<DevFlags>(), program.opts<Settings>(), terminal));
    });
}

async function serveDev(flags: DevFlags, settings: Settings, terminal: Terminal): Promise<ExitCode> {
  if (settings.readOnly === true)
    throw new StratigraphError(
      "ACCESS_DENIED",
      "The dev server runs graphs, which write: --read-only or STRATIGRAPH_READ_ONLY is set. To look at threads only: stratigraph inspect.",
      { operation: "dev" },
    );
  const { findLangGraphApi, readLangGraphJson, setVariables, startDev } = await import("../dev/index.ts");
  const json = await readLangGraphJson(terminal.cwd, flags.langgraph);
  const api = findLangGraphApi(json.folder);
  const unset = await setVariables(json);
  if (unset !== undefined) await writeLine(terminal.stderr, unset);
  const endFolders = shareFolders();
  const { port, host } = flags;
  let code: ExitCode = exitCodes.failed;
  let isStarted = false;
  const running = serve(
    "inspector",
    flags.allow,
    settings,
    terminal,
    async ({ opened, config, allow }) => {
      const saver = await opened.context.saver();
      // Erases what the calls of a run said that is rolled back or deleted.
      const { openJournal } = await import("../operations/journal/openJournal.ts");
      await openJournal(opened.context);
      const dev = await startDev({ api, json, saver, port, host, quiet: settings.quiet === true });
      try {
        const { inspect } = await import("../inspector/index.ts");
        const inspector = await inspect({
          ...servedOf(opened.context, config, settings, terminal),
          allow,
          host,
          port: flags.inspectorPort,
        });
        const urls = { api: dev.url, studio: studioOf(dev.url), inspector: inspector.url };
        await announce(urls, { ...dev, host, allow, version: api.version }, config, settings, terminal);
        const close = async (): Promise<void> => {
          await Promise.all([dev.close(), inspector.close()]);
        };
        isStarted = true;
        return { close, closed: dev.lost };
      } catch (error) {
        await dev.close();
        throw error;
      }
    },
    // As an application opens it: `readThrough`, too.
    { effect: "write", open: ({ checkpointer }) => createCheckpointer(checkpointer) },
  ).finally(endFolders);
  try {
    return (code = await running);
  } finally {
    // Graphs may have opened what never closes. The process ends anyway, a moment after everything here is closed.
    if (isStarted) setTimeout(() => process.exit(code), lingerMs).unref();
  }
}

/**
 * Lets graphs open the embedded database that the server has open: see sharedFolders.ts of @stratigraph/postgres.
 * @returns what closes the databases that graphs have left open
 */
function shareFolders(): () => Promise<void> {
  const folders = new Map<string, { end(): Promise<void> }>();
  (globalThis as Record<symbol, unknown>)[Symbol.for("stratigraph.sharedFolders")] = folders;
  return async () => {
    await Promise.allSettled([...folders.values()].map((folder) => folder.end()));
  };
}

/** The address of LangGraph Studio, a page of LangSmith that asks the API by itself. */
function studioOf(url: string): string {
  return `https://smith.langchain.com/studio?baseUrl=${url}`;
}

async function announce(
  urls: Readonly<Record<"api" | "studio" | "inspector", string>>,
  {
    host,
    allow,
    keepsItems,
    version,
  }: { host: string; allow: readonly Access[]; keepsItems: boolean; version: string },
  config: LoadedConfig,
  { json, output, quiet }: Settings,
  { stdout, stderr }: Terminal,
): Promise<void> {
  const isJson = json === true || output !== "table";
  const lines = [
    `LangGraph API  ${urls.api}`,
    `Studio         ${urls.studio}`,
    `Inspector      ${urls.inspector}`,
  ];
  await writeLine(stdout, isJson ? JSON.stringify({ ...urls, allow }) : lines.join("\n"));
  if (quiet === true) return;
  const notes = [
    `LangGraph's dev server ${version}. ${keepsItems ? "Checkpoints and the store are" : "Checkpoints are"} in ${storageName(config)}.`,
    ...(keepsItems
      ? []
      : ["This storage keeps no items: the store is in .langgraph_api, as LangGraph keeps it."]),
    ...(isLoopback(host)
      ? []
      : [
          "Other machines reach the API: without auth in langgraph.json they may run graphs and read all threads.",
        ]),
    "Ctrl-C ends both.",
  ];
  for (const note of notes) await writeLine(stderr, note);
}
