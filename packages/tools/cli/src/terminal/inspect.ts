import type { Command } from "commander";
import type { Access } from "../operations/index.ts";
import type { LoadedConfig } from "stratigraph";
import { allowFlag } from "./allowed.ts";
import type { ExitCode } from "./exitCodes.ts";
import { auditTo } from "./mcp.ts";
import { openBrowser } from "./openBrowser.ts";
import { serve } from "./serve.ts";
import { servedOf } from "./servedOf.ts";
import type { Settings } from "./settings.ts";
import { storageName } from "./storageText.ts";
import { writeLine, type Terminal } from "./terminal.ts";

/** Options of the command. */
interface InspectFlags {
  readonly port?: number;
  readonly host?: string;
  readonly allow?: readonly string[];
  readonly open?: boolean;
}

const rights: Readonly<Record<Access, string>> = {
  read: "look at threads",
  write: "change threads",
  destroy: "delete and repair them",
};

/** Adds the command that serves the inspector. It isn't an operation, but another interface to operations. */
export function addInspect(program: Command, terminal: Terminal, ended: (code: ExitCode) => void): void {
  const examples = ["inspect", "inspect --open", "inspect --allow write", "inspect --env production"];
  const command = program
    .command("inspect")
    .summary("Show threads in the browser: state, history, differences, storage.")
    .description(
      "Serve a page that shows the storage, until Ctrl-C. Prints its address. It only reads, unless --allow says more.",
    )
    .option("--port <n>", "the port to listen on; default: a free one", Number)
    .option(
      "--host <host>",
      "the address to listen on; another one than loopback needs a token (default: 127.0.0.1)",
    )
    .option(
      "--allow <effects>",
      "what the page may do besides reading: write, destroy, or both with a comma between",
      allowFlag,
    )
    .option("--open", "open the page in the browser")
    .helpGroup("Look:")
    .configureHelp({ showGlobalOptions: true })
    .addHelpText("after", ["", "Examples:", ...examples.map((each) => `  stratigraph ${each}`)].join("\n"))
    .action(async () => {
      ended(await serveInspector(command.opts<InspectFlags>(), program.opts<Settings>(), terminal));
    });
}

async function serveInspector(
  flags: InspectFlags,
  settings: Settings,
  terminal: Terminal,
): Promise<ExitCode> {
  return await serve("inspector", flags.allow, settings, terminal, async ({ opened, config, allow }) => {
    const { inspect } = await import("../inspector/index.ts");
    const inspector = await inspect({
      ...servedOf(opened.context, config, settings, terminal),
      allow,
      mcp: {
        ...config.mcp,
        allow: allow.filter((effect) => config.allow.mcp.includes(effect)),
        audit: auditTo(settings, terminal),
      },
      ...(flags.port === undefined ? {} : { port: flags.port }),
      ...(flags.host === undefined ? {} : { host: flags.host }),
    });
    await announce(inspector.url, allow, config, settings, terminal);
    const removeFile = flags.open === true ? await openBrowser(inspector.url, terminal) : undefined;
    const close = async (): Promise<void> => {
      await removeFile?.();
      await inspector.close();
    };
    return { close };
  });
}

async function announce(
  url: string,
  allow: readonly Access[],
  config: LoadedConfig,
  { json, output, quiet }: Settings,
  { stdout, stderr }: Terminal,
): Promise<void> {
  const isJson = json === true || output !== "table";
  await writeLine(stdout, isJson ? JSON.stringify({ url, allow }) : url);
  if (quiet === true) return;
  const may = allow.map((effect) => rights[effect]).join(", ");
  await writeLine(stderr, `The page shows ${storageName(config)}. It may ${may}.`);
  if (allow.length === 1) await writeLine(stderr, "To let it change threads, too: --allow write.");
  const { origin, hash } = new URL(url);
  await writeLine(
    stderr,
    `MCP clients: ${origin}/mcp, with the header Authorization: Bearer ${hash.replace("#token=", "")}`,
  );
  await writeLine(stderr, "Whoever has the address may use it. Ctrl-C ends it.");
}
