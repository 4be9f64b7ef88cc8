import { InvalidOptionError } from "@stratigraph/core";
import { checkOptions, type OptionNames } from "@stratigraph/core/internal";
import type { McpToken } from "stratigraph";
import {
  checkEffects,
  checkServedOptions,
  checkToken,
  servedOptionNames,
  type ServedOptions,
} from "../serving/options.ts";
import { checkTools } from "./offered.ts";
import type { McpSettings } from "./settings.ts";

/** What an MCP server shows, and what its clients may do. */
export interface McpOptions extends ServedOptions, McpSettings {
  /**
   * Called when the storage hasn't been needed for five times `pollMs`: no call is under way, nothing is watched. Then it may be closed, if
   * `saver` is a function that opens it anew. Default: it stays open.
   */
  readonly onIdle?: (() => void) | undefined;
}

const names: OptionNames<McpOptions> = {
  ...servedOptionNames,
  tokens: true,
  tools: true,
  audit: true,
  onIdle: true,
};

/** @throws InvalidOptionError */
export function checkMcpOptions(options: McpOptions): void {
  checkOptions("an MCP server", options, names);
  const { tokens = [], tools, audit, onIdle } = options;
  checkServedOptions(options);
  if (onIdle !== undefined && typeof options.saver !== "function")
    throw new InvalidOptionError(
      "onIdle",
      "a saver that is open",
      "Pass a function as `saver`, which opens it anew.",
    );
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
    checkEffects(`${field}.allow`, allow);
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
