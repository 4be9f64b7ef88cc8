import type { McpToken } from "stratigraph";
import type { Access } from "../operations/index.ts";

/** What became of a call of an MCP client: one entry per call. It has no values. */
export interface McpAudit {
  /** ISO 8601. */
  readonly at: string;
  /** The name of the token, or "stdio". */
  readonly client: string;
  /** The tool, resource or prompt that was asked for. */
  readonly asked: string;
  /** The threads and checkpoints that the call named. */
  readonly about: readonly string[];
  /** "ok", "asked", "declined", or the code of the error. */
  readonly outcome: string;
  readonly ms: number;
}

/** The clients of an MCP server, what it offers them, and who hears of their calls. */
export interface McpSettings {
  /** What clients may do. Default: only "read". */
  readonly allow?: readonly Access[] | undefined;
  /** Bearer tokens of clients over HTTP. Default: none, so that `fetch` answers only requests that its caller vouches for. */
  readonly tokens?: readonly McpToken[] | undefined;
  /** Names of the operations that are offered as tools, at most 15, in the order of the table. Default: 11 that read; with "write" 10 of them and 5 that write. */
  readonly tools?: readonly string[] | undefined;
  /** Called with an entry for each call, before its answer is sent. If it fails, so does the call. Default: none. */
  readonly audit?: ((entry: McpAudit) => void | Promise<void>) | undefined;
}
