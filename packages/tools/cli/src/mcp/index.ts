export { createMcp, type FetchOptions, type Mcp } from "./createMcp.ts";
export type { Grant } from "./clients.ts";
export type { McpOptions } from "./options.ts";
export type { McpAudit, McpSettings } from "./settings.ts";
export type { StdioConnection, StdioStreams } from "./stdio.ts";
