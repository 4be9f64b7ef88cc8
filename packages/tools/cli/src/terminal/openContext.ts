import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import type { Context, Access, Progress, RunEvent } from "../operations/index.ts";
import { NotFoundError, StratigraphError, type LoadedConfig, type TierSaver } from "stratigraph";
import { loadConfig, openCheckpointer } from "stratigraph/internal";
import { Interruption } from "./interruption.ts";
import type { Settings } from "./settings.ts";
import type { Terminal } from "./terminal.ts";

/** A context of the command line, and the function that ends it. */
export interface OpenedContext {
  readonly context: Context;
  /** The config, which is loaded at the first call. */
  config(): Promise<LoadedConfig>;
  /** Closes the storage in use. It is opened again when it is needed. */
  release(): Promise<void>;
  /** Closes every storage that was opened. */
  close(): Promise<void>;
}

/** What {@link openContext} needs from the command. */
export interface ContextOptions {
  readonly terminal: Terminal;
  readonly settings: Settings;
  /** Storages are set up before an operation writes to them, and left unchanged if it only reads. */
  readonly effect: Access;
  /** Opens a storage. Default: as an operation with this effect needs it. */
  readonly open?: ((config: LoadedConfig) => Promise<TierSaver>) | undefined;
  readonly signal: AbortSignal;
  readonly progress: (progress: Progress) => void;
  readonly emit?: ((event: RunEvent) => void) | undefined;
  /** Whether a graph may be named by its file: only where the caller is the person at the terminal, as the file is run. */
  readonly graphFiles?: boolean;
}

/** Makes the context of a command. No storage is opened before it is needed. */
export async function openContext({
  terminal,
  settings,
  effect,
  open: opening = (config) => ready(config, effect),
  signal,
  progress,
  emit,
  graphFiles = false,
}: ContextOptions): Promise<OpenedContext> {
  const opened = new Set<Promise<TierSaver>>();
  let loaded: Promise<LoadedConfig> | undefined;
  let saver: Promise<TierSaver> | undefined;
  let released: Promise<void> = Promise.resolve();
  const config = (): Promise<LoadedConfig> => (loaded ??= loadConfig(whereOf(settings, terminal)));
  const open = (of: LoadedConfig): Promise<TierSaver> => {
    const made = opening(of);
    opened.add(made);
    made.catch(() => opened.delete(made));
    return made;
  };
  const first = (): Promise<TierSaver> => {
    if (saver !== undefined) return saver;
    const opening = released.then(config).then(open);
    // A command that runs for a long time tries again: the storage may come back.
    opening.catch(() => {
      saver = undefined;
    });
    saver = opening;
    return opening;
  };
  const { redact, origin, journal } = await config();
  const context: Context = {
    saver: first,
    open: async (place) => await open(await configOf(place, settings, terminal)),
    graph: async (name) => {
      const isFile = graphFiles && name !== undefined && isGraphFile(name);
      const graph = isFile ? await graphOfFile(terminal.cwd, name) : await loadGraph(await config(), name);
      graph.checkpointer = await first();
      return graph as unknown as Awaited<ReturnType<Context["graph"]>>;
    },
    signal,
    progress,
    ...(emit === undefined ? {} : { emit }),
    cwd: terminal.cwd,
    redact: [...redact, ...(settings.redact ?? [])],
    origin,
    sign: journal,
  };
  return {
    context,
    config,
    release: async () => {
      const current = saver;
      if (current === undefined) return;
      saver = undefined;
      opened.delete(current);
      released = current.then((each) => each.end()).catch(() => undefined);
      await released;
    },
    close: async () => {
      await released;
      const savers = await Promise.allSettled(opened);
      for (const each of savers) if (each.status === "fulfilled") await each.value.end();
    },
  };
}

/**
 * Runs the work of a command in a context, until it ends. Ctrl-C aborts the signal. Afterwards all storages are closed, and nothing listens any
 * more, also if the context can't be made.
 * @param beforeMessage called before Ctrl-C is told, to remove a line of progress
 */
export async function inContext<R>(
  options: Omit<ContextOptions, "signal">,
  beforeMessage: () => void,
  work: (opened: OpenedContext, signal: AbortSignal) => Promise<R>,
): Promise<R> {
  const interruption = new Interruption(options.terminal, beforeMessage);
  let opened: OpenedContext | undefined;
  try {
    opened = await openContext({ ...options, signal: interruption.signal });
    return await work(opened, interruption.signal);
  } finally {
    interruption.end();
    await opened?.close();
  }
}

function whereOf(settings: Settings, { cwd }: Terminal) {
  return { cwd, file: settings.config, url: settings.url, environment: settings.env, evaluate };
}

/** The config of a place, which is a URL, or an environment of the config. */
async function configOf(place: string, settings: Settings, terminal: Terminal): Promise<LoadedConfig> {
  const where = whereOf(settings, terminal);
  return /^[a-z0-9+]+:/i.test(place)
    ? await loadConfig({ ...where, url: place, environment: undefined })
    : await loadConfig({ ...where, url: undefined, environment: place });
}

async function ready({ checkpointer }: LoadedConfig, effect: Access): Promise<TierSaver> {
  refuseMissingFolder(checkpointer, effect);
  const saver = openCheckpointer(checkpointer);
  const setsUp = effect !== "read" && (typeof checkpointer === "string" || checkpointer.setup !== false);
  if (!setsUp) return saver;
  try {
    await saver.setup();
    return saver;
  } catch (error) {
    await saver.end().catch(() => undefined);
    throw error;
  }
}

/** An operation that only reads must not create a missing folder. */
function refuseMissingFolder(checkpointer: LoadedConfig["checkpointer"], effect: Access): void {
  if (effect !== "read") return;
  const folder =
    typeof checkpointer === "string"
      ? /^(?:pglite|file):([^?]*)/i.exec(checkpointer)?.[1]
      : (checkpointer as { pglite?: string }).pglite;
  if (folder === undefined || existsSync(folder)) return;
  const message =
    `There is nothing in ${folder} yet: the folder doesn't exist. Run the agent first, name another storage ` +
    `(--url, or stratigraph.config.ts), or make it with "stratigraph setup".`;
  throw new StratigraphError("NOT_SET_UP", message, { folder });
}

interface GraphLike {
  checkpointer?: unknown;
}

/** Loads a graph as LangGraph's own tools do: a compiled graph, one that can be compiled, or a function that returns one. */
async function loadGraph(
  { graphs, folder, origin }: LoadedConfig,
  name: string | undefined,
): Promise<GraphLike> {
  const names = Object.keys(graphs);
  const chosen = name ?? (names.length === 1 ? names[0] : undefined);
  const source = chosen === undefined || !Object.hasOwn(graphs, chosen) ? undefined : graphs[chosen];
  if (source === undefined) {
    const known =
      names.length === 0 ? "The config names none: add graphs" : `Choose one of ${names.join(", ")}`;
    const message = `${name === undefined ? "No graph was chosen" : `There is no graph ${name}`} (${origin}). ${known}.`;
    throw new NotFoundError(message, {});
  }
  return await graphOfFile(folder, source);
}

/** Whether a graph is named by its file, as "./graph.ts" or "./graph.ts:agent". */
function isGraphFile(name: string): boolean {
  return /^\.{0,2}\/|\.[cm]?[jt]sx?(?::\w+)?$/.test(name);
}

/**
 * @param source the file, and what it exports: "./graph.ts:agent". Without a name: `graph`, its default export, or its only export
 * @throws NotFoundError if there is no such file; StratigraphError "MISCONFIGURED" if it can't be loaded, or exports no such graph
 */
async function graphOfFile(folder: string, source: string): Promise<GraphLike> {
  const [, path = source, name] = /^(.*):([^:/\\]+)$/.exec(source) ?? [];
  const file = resolve(folder, path);
  if (!existsSync(file)) throw new NotFoundError(`There is no file ${file}.`, { file });
  const module = await importModule(file).catch((error: unknown) => {
    const why = error instanceof Error ? error.message : String(error);
    throw new StratigraphError("MISCONFIGURED", `${file} can't be loaded: ${why}`, { file }, error);
  });
  const names = Object.keys(module);
  const [only, ...others] = names;
  const usual = ["graph", "default"].find((each) => names.includes(each));
  const chosen = name ?? usual ?? (others.length === 0 ? only : undefined);
  const exported = chosen === undefined ? undefined : module[chosen];
  const made: unknown = typeof exported === "function" ? await exported() : exported;
  const compilable = made as { compile?: () => GraphLike } | null | undefined;
  const graph =
    typeof compilable?.compile === "function" ? compilable.compile() : (made as GraphLike | undefined);
  if (typeof graph === "object" && graph !== null) return graph;
  throw new StratigraphError(
    "MISCONFIGURED",
    chosen === undefined
      ? `${file} exports ${names.join(", ") || "nothing"}: name the graph, as in ${path}:agent.`
      : `${file} exports no graph ${chosen}.`,
    { file },
  );
}

async function evaluate(file: string): Promise<unknown> {
  return (await importModule(file))["default"];
}

async function importModule(file: string): Promise<Record<string, unknown>> {
  const { createJiti } = await import("jiti");
  return await createJiti(pathToFileURL(file).href).import<Record<string, unknown>>(file);
}
