import { readFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { InvalidOptionError, StratigraphError, type Duration } from "@stratigraph/core";
import { shownName, waitMsOf } from "@stratigraph/core/internal";
import type * as Jiti from "jiti";
import type { CheckpointerConfig } from "../config.ts";
import { checkSettings } from "./checkSettings.ts";
import { InvalidConfigError } from "./invalidConfigError.ts";
import { fillPlaceholders } from "./placeholders.ts";
import { settle } from "./settle.ts";
import type {
  Access,
  EnvironmentConfig,
  GraphSource,
  JournalKeys,
  StratigraphConfig,
} from "./stratigraphConfig.ts";
import { existsSync } from "node:fs";

/** Options of {@link loadConfig}. */
export interface LoadConfigOptions {
  /** The folder to begin looking in. Default: the current one. */
  readonly cwd?: string | undefined;
  /** The config file. Default: `STRATIGRAPH_CONFIG`, or the nearest `stratigraph.config.*`. */
  readonly file?: string | undefined;
  /** A storage by its URL, in the place of a config file. */
  readonly url?: string | undefined;
  /** Which of the config's environments. Default: `STRATIGRAPH_ENV`, or none. Not together with `url`, which has none. */
  readonly environment?: string | undefined;
  /** Evaluates a module and returns its default export. Default: by the package jiti of the project, without which Node imports `.mjs` and `.js`. */
  readonly evaluate?: ((file: string) => Promise<unknown>) | undefined;
  /** How long the config file may take to be evaluated. Default "30s", at most "1d". */
  readonly timeout?: Duration | undefined;
}

/** Settings with every default filled in. */
export interface LoadedConfig {
  /** Where they came from: the path of a file, "--url", "STRATIGRAPH_URL", or the default folder. */
  readonly origin: string;
  /** The folder that paths are relative to. */
  readonly folder: string;
  readonly environment: string | undefined;
  readonly checkpointer: CheckpointerConfig | string;
  /** Graphs by name: a file and what it exports, separated by the last colon. */
  readonly graphs: Readonly<Record<string, string>>;
  /** What each front may do; for the inspector and the MCP server, what they can be made to allow. */
  readonly allow: Readonly<Record<"cli" | "inspector" | "mcp", readonly Access[]>>;
  readonly redact: readonly string[];
  readonly journal: JournalKeys | undefined;
  readonly mcp: NonNullable<EnvironmentConfig["mcp"]>;
}

/**
 * Finds out where checkpoints are kept: by `url`; by `file`; by `STRATIGRAPH_CONFIG`; by the nearest `stratigraph.config.ts`, `.mts`,
 * `.js`, `.mjs` or `.json` in the current folder or above, up to the root of the repository; by `STRATIGRAPH_URL`; or else in the
 * folder `.stratigraph`.
 * @throws InvalidConfigError that names every mistake; InvalidOptionError on an environment where there is no config file, and on variables
 * that are empty; StratigraphError "MISCONFIGURED" if the file can't be evaluated, "DRIVER_MISSING" for TypeScript without jiti
 */
export async function loadConfig(options: LoadConfigOptions = {}): Promise<LoadedConfig> {
  const { cwd = process.cwd(), url } = options;
  if (url !== undefined) {
    if (options.environment !== undefined) throw noEnvironment(options.environment, "a URL");
    return complete("--url", cwd, undefined, { checkpointer: url, graphs: await graphsOfLangGraph(cwd) });
  }
  const file = fileOf(cwd, options.file);
  if (file !== undefined) return await fromFile(file, options);
  const environment = environmentOf(options);
  const inVariable = variable("STRATIGRAPH_URL", 'such as "postgresql://host/database"');
  const origin = inVariable === undefined ? "the folder .stratigraph" : "STRATIGRAPH_URL";
  if (environment !== undefined) throw noEnvironment(environment, origin);
  const checkpointer = inVariable ?? { pglite: join(cwd, ".stratigraph") };
  return complete(origin, cwd, undefined, { checkpointer, graphs: await graphsOfLangGraph(cwd) });
}

/** The config file that was named, or else the nearest. @throws InvalidOptionError */
function fileOf(cwd: string, given: string | undefined): string | undefined {
  const named = given ?? variable("STRATIGRAPH_CONFIG", "the path of a config file");
  if (named === undefined) return findConfig(cwd);
  if (named === "") throw new InvalidOptionError("config", "empty text", "Name a config file.");
  // Don't show it: there may be a password in it.
  if (/^[a-z][a-z0-9+.-]*:\/\//i.test(named))
    throw new InvalidOptionError(
      "config",
      "a URL",
      "Name a file. A storage is named by url (--url, STRATIGRAPH_URL).",
    );
  return resolve(cwd, named);
}

function environmentOf({ environment }: LoadConfigOptions): string | undefined {
  if (environment === "")
    throw new InvalidOptionError(
      "environment",
      "empty text",
      "Name one of the config's environments, or unset STRATIGRAPH_ENV.",
    );
  return environment ?? variable("STRATIGRAPH_ENV", "the name of an environment");
}

/** The value of an environment variable; undefined if it isn't set. @throws InvalidOptionError if it is empty */
function variable(name: string, expected: string): string | undefined {
  const found = process.env[name];
  if (found === "")
    throw new InvalidOptionError(name, "an empty variable", `Set it to ${expected}, or unset it.`);
  return found;
}

/** The error for an environment that would have no effect. @param origin the config's origin, which has no environments */
function noEnvironment(environment: string, origin: string): InvalidOptionError {
  return new InvalidOptionError(
    "environment",
    shownName(environment),
    `Only a config file has environments, and ${origin} was chosen instead of one. Leave it out (--env, STRATIGRAPH_ENV), or name a config file.`,
  );
}

async function fromFile(file: string, options: LoadConfigOptions): Promise<LoadedConfig> {
  const { evaluate = evaluated, timeout = "30s" } = options;
  const environment = environmentOf(options);
  const contents = settle(contentsOf(file, evaluate), waitMsOf("timeout", timeout), (why) => {
    const message = `${file} can't be loaded: its evaluation doesn't end (${why}). Look for a top-level await whose promise never settles.`;
    return new StratigraphError("MISCONFIGURED", message, { file });
  });
  const config = await checkSettings(file, await contents);
  const chosen = fillPlaceholders(file, inEnvironment(file, config, environment));
  const folder = dirname(file);
  const graphs = chosen.graphs ?? (await graphsOfLangGraph(folder));
  return complete(file, folder, environment, { ...chosen, graphs });
}

async function contentsOf(file: string, evaluate: (file: string) => Promise<unknown>): Promise<unknown> {
  try {
    return file.endsWith(".json") ? parsed(await readFile(file, "utf8")) : await evaluate(file);
  } catch (error) {
    if (error instanceof StratigraphError) throw error;
    const { message } = error as Error;
    throw new StratigraphError("MISCONFIGURED", `${file} can't be loaded: ${message}`, { file }, error);
  }
}

/** Parses JSON. The error gives the line where it isn't valid, but doesn't quote the text, which may be a password. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    const at = /at position (\d+)/.exec((error as Error).message)?.[1];
    const line = at === undefined ? "" : ` from line ${text.slice(0, Number(at)).split("\n").length} on`;
    // oxlint-disable-next-line preserve-caught-error -- its message quotes the text
    throw new Error(`it isn't valid JSON${line}.`);
  }
}

/** Evaluates a module with the package jiti. Without jiti, Node itself imports the files that it can. */
async function evaluated(file: string): Promise<unknown> {
  const jiti = await importJiti();
  if (!("cause" in jiti)) return await jiti.createJiti(file).import(file, { default: true });
  if (!/\.m?js$/.test(file)) {
    const message = `${file} needs the package jiti. Install it: npm install jiti. Or write stratigraph.config.mjs or .json.`;
    throw new StratigraphError("DRIVER_MISSING", message, { package: "jiti" }, jiti.cause);
  }
  const module = (await import(/* webpackIgnore: true */ /* @vite-ignore */ pathToFileURL(file).href)) as {
    readonly default: unknown;
  };
  return module.default;
}

async function importJiti(): Promise<typeof Jiti | { readonly cause: unknown }> {
  // If import() stands in a try of the same function, bundlers accept that the package isn't installed.
  try {
    return await import("jiti");
  } catch (cause) {
    return { cause };
  }
}

function inEnvironment(
  file: string,
  { environments = {}, ...config }: StratigraphConfig,
  name: string | undefined,
): EnvironmentConfig {
  if (name === undefined) return config;
  if (Object.hasOwn(environments, name)) return { ...config, ...environments[name] } as EnvironmentConfig;
  const known = Object.keys(environments);
  const expected =
    known.length === 0 ? "the config has none" : `expected one of ${known.map(shownName).join(", ")}`;
  throw new InvalidConfigError(file, [
    { path: `environments.${shownName(name)}`, expected: `isn't there; ${expected}` },
  ]);
}

/** The graphs of a langgraph.json, if there is one. */
async function graphsOfLangGraph(folder: string): Promise<EnvironmentConfig["graphs"]> {
  const text = await readFile(join(folder, "langgraph.json"), "utf8").catch(() => undefined);
  if (text === undefined) return undefined;
  try {
    const { graphs } = JSON.parse(text) as { graphs?: object };
    const isSource = (source: unknown): source is GraphSource =>
      typeof source === "string" || typeof (source as { path?: unknown } | null)?.path === "string";
    return Object.fromEntries(
      Object.entries(graphs ?? {}).filter((each): each is [string, GraphSource] => isSource(each[1])),
    );
  } catch {
    // The file belongs to LangGraph's own tools, which report mistakes in it.
    return undefined;
  }
}

const everything: readonly Access[] = ["read", "write", "destroy"];

function complete(
  origin: string,
  folder: string,
  environment: string | undefined,
  { checkpointer, graphs = {}, allow = {}, redact = [], journal, mcp = {} }: EnvironmentConfig,
): LoadedConfig {
  const paths = Object.entries(graphs).map(([name, graph]) => [
    name,
    typeof graph === "string" ? graph : graph.path,
  ]);
  return {
    origin,
    folder,
    environment,
    checkpointer: rebase(folder, checkpointer),
    graphs: Object.fromEntries(paths),
    allow: {
      cli: allow.cli ?? everything,
      inspector: allow.inspector ?? allow.cli ?? everything,
      mcp: allow.mcp ?? allow.cli ?? everything,
    },
    redact,
    journal,
    mcp,
  };
}

/** Names of config files, the first one that is there counts. */
const configNames = ["ts", "mts", "js", "mjs", "json"].map((ending) => `stratigraph.config.${ending}`);

/** The config file of a folder or of one above it, up to the root of the repository. */
function findConfig(from: string): string | undefined {
  for (let folder = resolve(from); ; folder = dirname(folder)) {
    const found = configNames.map((name) => join(folder, name)).find((file) => existsSync(file));
    if (found !== undefined) return found;
    if (existsSync(join(folder, ".git")) || dirname(folder) === folder) return undefined;
  }
}

/** A config whose paths are absolute: they are written relative to `folder`, whatever the current folder is. */
function rebase(folder: string, config: CheckpointerConfig | string): CheckpointerConfig | string {
  if (typeof config === "string") return rebaseUrl(folder, config);
  const rebased = Object.entries(config).map(([name, value]: [string, unknown]) => {
    if (name === "pglite" && typeof value === "string") return [name, resolve(folder, value)];
    if (["hot", "warm", "cold", "replicas"].includes(name)) return [name, rebaseSources(folder, value)];
    return [name, value];
  });
  return Object.fromEntries(rebased) as CheckpointerConfig;
}

function rebaseSources(folder: string, value: unknown): unknown {
  if (Array.isArray(value)) return value.map((item) => rebaseSources(folder, item));
  return typeof value === "string" ? rebaseUrl(folder, value) : value;
}

function rebaseUrl(folder: string, url: string): string {
  const [, scheme, path, query] = /^(pglite|file):(?:\/\/(?=\/))?([^?]*)(.*)$/is.exec(url) ?? [];
  return path === undefined || path === "" ? url : `${scheme}:${resolve(folder, path)}${query}`;
}
