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
   * What each front may do. Default: everything. The inspector and the MCP server read; of their other allowed effects, they have only
   * those that `--allow` names. Their default is that of the command line.
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
  /** The MCP server's clients over HTTP, and what it offers them. Default: no clients but those who have the inspector's token. */
  readonly mcp?:
    | {
        readonly tokens?: readonly McpToken[] | undefined;
        /** Names of the operations that are offered as tools, at most 15. Default: 11 that read, and 4 more with `--allow write`. */
        readonly tools?: readonly string[] | undefined;
      }
    | undefined;
}

/** A bearer token of an MCP client, and what it opens. */
export interface McpToken {
  /** Who uses it, for the audit and as the author of changes in workspaces: "support-bot". */
  readonly name: string;
  /** At least 16 characters that nobody can guess: ASCII without spaces. */
  readonly token: string;
  /** What it may do, of what the server allows. Default: only "read". */
  readonly allow?: readonly Access[] | undefined;
  /** Beginnings of the ids of the threads that it may use: `["acme/"]`. Default: all threads, or none if `workspaces` is given. */
  readonly threads?: readonly string[] | undefined;
  /** Names of the workspaces that it may use. Default: all of them, or none if `threads` is given. */
  readonly workspaces?: readonly string[] | undefined;
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
