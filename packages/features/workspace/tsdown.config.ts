import { defineConfig } from "tsdown";
import { base } from "../../../tsdown.base.ts";

// Each entry for itself, as the journal's. The backend takes the workspace as an argument, so that nothing of it is in both.
export default defineConfig([base, { ...base, entry: ["src/deepagents.ts"], clean: false }]);
