import { defineConfig } from "tsdown";
import { base } from "../../../tsdown.base.ts";

// Each entry for itself: in one build the CommonJS index would export rolldown's helpers, which the other file shares. The middleware
// and the wrapper of MCP servers take the journal as an argument, so that nothing of it is in both.
export default defineConfig([
  base,
  { ...base, entry: ["src/langchain.ts"], clean: false },
  { ...base, entry: ["src/mcp.ts"], clean: false },
  { ...base, entry: ["src/internal.ts"], clean: false },
]);
