import { defineConfig } from "tsdown";
import { base } from "../../tsdown.base.ts";

// Each entry for itself: in one build the CommonJS index would export rolldown's helpers, which the other file shares.
export default defineConfig([
  { ...base, entry: ["src/index.ts", "src/internal.ts"] },
  { ...base, entry: ["src/aws.ts"], clean: false },
]);
