import { once } from "node:events";
import type { LoadedConfig } from "stratigraph";
import type { Access } from "../operations/index.ts";
import { allowedEffects, effectsOf } from "./allowed.ts";
import { exitCodes, type ExitCode } from "./exitCodes.ts";
import { inContext, type ContextOptions, type OpenedContext } from "./openContext.ts";
import type { Settings } from "./settings.ts";
import type { Terminal } from "./terminal.ts";

/** How long a server and its storages may take to be closed, in milliseconds. */
const closeMs = 10_000;

/** What a server has from the command line. */
interface Served {
  readonly opened: OpenedContext;
  readonly config: LoadedConfig;
  readonly allow: readonly Access[];
}

/** A server that was started. */
interface Server {
  /** Resolves if it ends by itself. */
  readonly closed?: Promise<unknown>;
  close(): Promise<void>;
}

/**
 * Runs a server that others use, until it ends or Ctrl-C. A storage that doesn't answer doesn't keep the process alive.
 * @param flags what `--allow` names
 * @param storage what the server does with the storage, whatever its clients may, and how it is opened. Default: what `--allow` names
 * @throws InvalidOptionError; StratigraphError "ACCESS_DENIED"
 */
export async function serve(
  front: "inspector" | "mcp",
  flags: readonly string[] | undefined,
  settings: Settings,
  terminal: Terminal,
  start: (served: Served) => Promise<Server>,
  {
    effect = effectsOf(flags ?? []).includes("write") ? "write" : "read",
    open,
  }: Partial<Pick<ContextOptions, "effect" | "open">> = {},
): Promise<ExitCode> {
  return await inContext(
    { terminal, settings, effect, open, progress: () => undefined },
    () => undefined,
    async (opened, signal) => {
      const config = await opened.config();
      const allow = allowedEffects(front, flags, settings, config);
      const server = await start({ opened, config, allow });
      const ends = server.closed === undefined ? [] : [server.closed];
      if (!signal.aborted) await Promise.race([...ends, once(signal, "abort")]);
      const timer = setTimeout(() => process.exit(exitCodes.done), closeMs).unref();
      try {
        await server.close();
        await opened.close();
      } finally {
        clearTimeout(timer);
      }
      return exitCodes.done;
    },
  );
}
