export { createMcp, type Mcp } from "./createMcp.ts";
export type { Grant } from "./clients.ts";
export type { McpAudit, McpOptions } from "./options.ts";
export type { StdioConnection, StdioStreams } from "./stdio.ts";
