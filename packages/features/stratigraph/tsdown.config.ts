import { defineConfig } from "tsdown";
import { base } from "../../../tsdown.base.ts";

export default defineConfig([
  { ...base, entry: ["src/index.ts", "src/internal.ts"] },
  // A program is no CommonJS module: it is run, never required.
  { ...base, entry: ["src/bin.ts"], format: ["esm"], dts: false, clean: false },
]);
