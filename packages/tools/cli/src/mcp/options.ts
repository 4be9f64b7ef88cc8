import { InvalidOptionError } from "@stratigraph/core";
import { checkOptions, type OptionNames } from "@stratigraph/core/internal";
import type { McpToken } from "stratigraph";
import { checkInspectorOptions, checkToken, type InspectorOptions } from "../inspector/options.ts";
import { checkTools } from "./offered.ts";

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
  /** "ok", "declined", or the code of the error. */
  readonly outcome: string;
  readonly ms: number;
}

/** What an MCP server shows, and what its clients may do. */
export interface McpOptions extends Pick<
  InspectorOptions,
  | "saver"
  | "allow"
  | "hosts"
  | "graphs"
  | "graph"
  | "redact"
  | "sign"
  | "cwd"
  | "storage"
  | "origin"
  | "pollMs"
  | "onError"
> {
  /** Bearer tokens of clients over HTTP. Default: none, so that `fetch` answers only requests that its caller vouches for. */
  readonly tokens?: readonly McpToken[] | undefined;
  /** Names of the operations that are offered as tools, at most 15, in the order of the table. Default: 11 that read, 4 more with "write". */
  readonly tools?: readonly string[] | undefined;
  /** Called with an entry for each call, before its answer is sent. If it fails, so does the call. Default: none. */
  readonly audit?: ((entry: McpAudit) => void | Promise<void>) | undefined;
}

const names: OptionNames<McpOptions> = {
  saver: true,
  allow: true,
  hosts: true,
  graphs: true,
  graph: true,
  redact: true,
  sign: true,
  cwd: true,
  storage: true,
  origin: true,
  pollMs: true,
  onError: true,
  tokens: true,
  tools: true,
  audit: true,
};

/** @throws InvalidOptionError */
export function checkMcpOptions(options: McpOptions): void {
  checkOptions("an MCP server", options, names);
  const { tokens = [], tools, audit, ...others } = options;
  checkInspectorOptions(others);
  if (audit !== undefined && typeof audit !== "function")
    throw new InvalidOptionError("audit", typeof audit, "Pass a function that gets each entry.");
  const known = new Set<string>();
  for (const [n, each] of tokens.entries()) {
    const field = `tokens.${n}`;
    const { name, token, allow = [], threads = [""], workspaces = [""] } = Object(each) as McpToken;
    if (typeof name !== "string" || name === "" || known.has(name))
      throw new InvalidOptionError(`${field}.name`, name, "Give each token a name of its own.");
    known.add(name);
    checkToken(`${field}.token`, token);
    checkInspectorOptions({ saver: options.saver, allow });
    if (threads.length === 0 || !threads.every((text) => typeof text === "string"))
      throw new InvalidOptionError(
        `${field}.threads`,
        "no texts",
        "List beginnings of thread ids, or leave it out.",
      );
    if (!workspaces.every((text) => typeof text === "string"))
      throw new InvalidOptionError(`${field}.workspaces`, "something else", "List names of workspaces.");
  }
  checkTools(tools);
}
