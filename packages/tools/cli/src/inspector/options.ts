import { checkOptions, type OptionNames } from "@stratigraph/core/internal";
import type { McpSettings } from "../mcp/settings.ts";
import { checkServedOptions, checkToken, servedOptionNames, type ServedOptions } from "../serving/options.ts";

/** What an inspector shows, and what it may do. */
export interface InspectorOptions extends ServedOptions {
  /** The token by which requests prove that they come from the page; at least 16 characters. Default: a random one. */
  readonly token?: string | undefined;
  /** Clients of the MCP server at `/mcp`, what it offers, and who hears of their calls. Default: who has the inspector's token. */
  readonly mcp?: McpSettings | undefined;
  /** The folder of the built page. Default: that of this package. */
  readonly pageFolder?: string | undefined;
}

const names: OptionNames<InspectorOptions> = {
  ...servedOptionNames,
  token: true,
  mcp: true,
  pageFolder: true,
};

/** @throws InvalidOptionError */
export function checkInspectorOptions(options: InspectorOptions): void {
  checkOptions("an inspector", options, names);
  checkServedOptions(options);
  if (options.token !== undefined) checkToken("token", options.token);
}
