export { createMcp } from "./createMcp.ts";
export type { Grant } from "./clients.ts";
export type { McpOptions } from "./options.ts";
export type { McpAudit, McpSettings } from "./settings.ts";
export type { StdioConnection, StdioStreams } from "./stdio.ts";
export type { FetchOptions, Mcp } from "./wired.ts";
