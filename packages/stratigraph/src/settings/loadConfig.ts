import { readFile } from "node:fs/promises";
import { dirname, join, relative, resolve } from "node:path";
import { StratigraphError } from "@stratigraph/core";
import type * as Jiti from "jiti";
import type { CheckpointerConfig } from "../config.ts";
import { checkSettings } from "./checkSettings.ts";
import { findConfig } from "./findConfig.ts";
import { InvalidConfigError } from "./invalidConfigError.ts";
import { fillPlaceholders } from "./placeholders.ts";
import { rebase } from "./rebase.ts";
import type { Effect, EnvironmentConfig, StratigraphConfig } from "./stratigraphConfig.ts";

/** Options of {@link loadConfig}. */
export interface LoadConfigOptions {
  /** The folder to begin looking in. Default: the current one. */
  readonly cwd?: string | undefined;
  /** The config file. Default: `STRATIGRAPH_CONFIG`, or the nearest `stratigraph.config.*`. */
  readonly file?: string | undefined;
  /** A storage by its URL, in the place of a config file. */
  readonly url?: string | undefined;
  /** Which of the config's environments. Default: `STRATIGRAPH_ENV`, or none. */
  readonly environment?: string | undefined;
  /** Evaluates a module and returns its default export. Default: by the package jiti of the project. */
  readonly evaluate?: ((file: string) => Promise<unknown>) | undefined;
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
  readonly allow: Readonly<Record<"cli" | "inspector" | "mcp", readonly Effect[]>>;
  readonly redact: readonly string[];
}

/**
 * Finds out where checkpoints are kept: by `url`; by `file`; by `STRATIGRAPH_CONFIG`; by the nearest `stratigraph.config.ts`, `.mts`,
 * `.js`, `.mjs` or `.json` in the current folder or above, up to the root of the repository; by `STRATIGRAPH_URL`; or else in the
 * folder `.stratigraph`.
 * @throws InvalidConfigError that names every mistake; StratigraphError "MISCONFIGURED" where the file can't be evaluated,
 * "DRIVER_MISSING" without jiti
 */
export async function loadConfig(options: LoadConfigOptions = {}): Promise<LoadedConfig> {
  const { cwd = process.cwd(), url } = options;
  if (url !== undefined) return complete("--url", cwd, undefined, { checkpointer: url });
  const named = options.file ?? nonEmpty(process.env["STRATIGRAPH_CONFIG"]);
  const file = named === undefined ? findConfig(cwd) : resolve(cwd, named);
  if (file !== undefined) return await fromFile(file, options);
  const inVariable = nonEmpty(process.env["STRATIGRAPH_URL"]);
  if (inVariable !== undefined)
    return complete("STRATIGRAPH_URL", cwd, undefined, { checkpointer: inVariable });
  const folder = join(cwd, ".stratigraph");
  return complete(`the folder ${relative(cwd, folder)}`, cwd, undefined, { checkpointer: { folder } });
}

async function fromFile(file: string, options: LoadConfigOptions): Promise<LoadedConfig> {
  const config = await checkSettings(file, await contentsOf(file, options.evaluate ?? evaluateByJiti));
  const environment = options.environment ?? nonEmpty(process.env["STRATIGRAPH_ENV"]);
  const chosen = fillPlaceholders(file, inEnvironment(file, config, environment));
  const folder = dirname(file);
  const graphs = chosen.graphs ?? (await graphsOfLangGraph(folder));
  return complete(file, folder, environment, { ...chosen, graphs });
}

async function contentsOf(file: string, evaluate: (file: string) => Promise<unknown>): Promise<unknown> {
  try {
    if (file.endsWith(".json")) return JSON.parse(await readFile(file, "utf8"));
    return await evaluate(file);
  } catch (error) {
    if (error instanceof StratigraphError) throw error;
    const { message } = error as Error;
    throw new StratigraphError("MISCONFIGURED", `${file} can't be loaded: ${message}`, { file }, error);
  }
}

async function evaluateByJiti(file: string): Promise<unknown> {
  const { createJiti } = await importJiti(file);
  return await createJiti(file).import(file, { default: true });
}

async function importJiti(file: string): Promise<typeof Jiti> {
  // If import() stands in a try of the same function, bundlers accept that the package isn't installed.
  try {
    return await import("jiti");
  } catch (cause) {
    const message = `${file} needs the package jiti. Install it: npm install jiti. Or write stratigraph.config.json.`;
    throw new StratigraphError("DRIVER_MISSING", message, { package: "jiti" }, cause);
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
  const expected = known.length === 0 ? "the config has none" : `expected one of ${known.join(", ")}`;
  throw new InvalidConfigError(file, [
    { path: `environments.${name}`, expected: `isn't there; ${expected}` },
  ]);
}

/** The graphs of a langgraph.json, if there is one. */
async function graphsOfLangGraph(folder: string): Promise<EnvironmentConfig["graphs"]> {
  const text = await readFile(join(folder, "langgraph.json"), "utf8").catch(() => undefined);
  if (text === undefined) return undefined;
  try {
    return (JSON.parse(text) as { graphs?: EnvironmentConfig["graphs"] }).graphs;
  } catch {
    // It belongs to LangGraph's own tools, which say what is wrong with it.
    return undefined;
  }
}

const everything: readonly Effect[] = ["read", "write", "destroy"];

function complete(
  origin: string,
  folder: string,
  environment: string | undefined,
  { checkpointer, graphs = {}, allow = {}, redact = [] }: EnvironmentConfig,
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
      inspector: allow.inspector ?? ["read"],
      mcp: allow.mcp ?? ["read"],
    },
    redact,
  };
}

function nonEmpty(text: string | undefined): string | undefined {
  return text === "" ? undefined : text;
}
