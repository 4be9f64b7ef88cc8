import { defineConfig } from "tsdown";
import { base } from "../../tsdown.base.ts";

// ES modules alone, as the command line that opens it. The page beside it is Vite's: see vite.config.ts.
export default defineConfig({ ...base, format: ["esm"], clean: ["dist/*", "!dist/page"] });
