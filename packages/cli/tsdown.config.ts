import { defineConfig } from "tsdown";
import { base } from "../../tsdown.base.ts";

// ES modules alone: it is a program, and @clack/prompts has no CommonJS build.
export default defineConfig({ ...base, entry: ["src/index.ts", "src/bin.ts"], format: ["esm"] });
