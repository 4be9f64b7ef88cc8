import { defineConfig } from "tsdown";
import { base } from "../../../tsdown.base.ts";

// ES modules alone: it is a program, and @clack/prompts has no CommonJS build. The page beside it is Vite's: see vite.config.ts.
const entry = {
  index: "src/index.ts",
  bin: "src/bin.ts",
  inspector: "src/inspector/index.ts",
  mcp: "src/mcp/index.ts",
  operations: "src/operations/index.ts",
};

export default defineConfig([
  { ...base, entry, format: ["esm"], clean: ["dist/*", "!dist/page"] },
  // A front of somebody's own may be CommonJS.
  { ...base, entry: { operations: entry.operations }, format: ["cjs"], clean: false },
]);
