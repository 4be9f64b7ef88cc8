export { wrapServer } from "./mcp/wrapServer.ts";
export type { McpContext, McpServerLike } from "./mcp/server.ts";
export type { McpJournal, WrapServerOptions } from "./mcp/options.ts";
