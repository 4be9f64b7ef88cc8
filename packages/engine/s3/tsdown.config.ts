import { defineConfig } from "tsdown";
import { base } from "../../../tsdown.base.ts";

// Each entry for itself: in one build the CommonJS index would export rolldown's helpers, which the other file shares.
export default defineConfig([
  base,
  { ...base, entry: ["src/aws.ts"], clean: false },
  { ...base, entry: ["src/internal.ts"], clean: false },
]);
