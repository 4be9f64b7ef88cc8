import type { CheckpointerConfig } from "../config.ts";

/** What an operation may do: read threads, write to them, or take something away for good. */
export type Access = "read" | "write" | "destroy";

/** Where a graph is: `./src/agent.ts:graph`, a file and what it exports; as in langgraph.json. */
export type GraphSource = string | { readonly path: string };

/** What a config file says, apart from its environments. */
export interface EnvironmentConfig {
  /** What `createCheckpointer` takes: a plain object, or a URL. Paths in it are relative to the config file. */
  readonly checkpointer: CheckpointerConfig | string;
  /** Compiled graphs by name, for what has to run one. Default: those of the langgraph.json beside the config file. */
  readonly graphs?: Readonly<Record<string, GraphSource>> | undefined;
  /**
   * What each front may do. Default: everything on the command line, only "read" over MCP. The inspector reads; of its other allowed
   * effects, it has only those that `--allow` names. Its default is that of the command line.
   */
  readonly allow?:
    | {
        readonly cli?: readonly Access[] | undefined;
        readonly inspector?: readonly Access[] | undefined;
        readonly mcp?: readonly Access[] | undefined;
      }
    | undefined;
  /** Paths of values that no front shows, such as `messages.*.content`; `*` stands for any name or index. Default: none. */
  readonly redact?: readonly string[] | undefined;
  /** The keys that the application's journal signs with (its option `sign`), to verify trails and to answer questions. Default: none. */
  readonly journal?: JournalKeys | undefined;
}

/** Secrets by name, and the name of the one that signs: what `createJournal` takes as `sign`. */
export interface JournalKeys {
  readonly keys: Readonly<Record<string, string | Uint8Array>>;
  readonly activeKey: string;
}

/** The contents of `stratigraph.config.ts`. */
export interface StratigraphConfig extends EnvironmentConfig {
  /** What is different in an environment, chosen with `--env` or `STRATIGRAPH_ENV`. Each option replaces the one above as a whole. */
  readonly environments?: Readonly<Record<string, Partial<EnvironmentConfig>>> | undefined;
}

/**
 * Returns its argument. It only gives the config its type.
 *
 * @example
 * // stratigraph.config.ts
 * export default defineConfig({ checkpointer: { postgres: env("DATABASE_URL") } });
 */
export function defineConfig(config: StratigraphConfig): StratigraphConfig {
  return config;
}

/**
 * Stands for the value of an environment variable, which is read when the config is used: a variable that another environment needs
 * doesn't have to be set. In JSON write `"${DATABASE_URL}"`.
 */
export function env(variable: string): string {
  return `\${${variable}}`;
}
