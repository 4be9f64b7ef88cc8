import { defineConfig } from "tsdown";
import { base } from "../../../tsdown.base.ts";

// Each entry for itself, as the journal's. Backend, prompts and sync take the workspace as an argument, so that nothing of it is in both.
export default defineConfig([
  base,
  { ...base, entry: ["src/deepagents.ts"], clean: false },
  { ...base, entry: ["src/prompts.ts"], clean: false },
  { ...base, entry: ["src/mcp.ts"], clean: false },
]);
