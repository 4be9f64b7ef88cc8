import { join } from "node:path";
import { build } from "vite";

/** Builds the page into a folder. @param watches whether to build it again whenever a source changes */
export async function buildPage(folder: string, watches = false): Promise<void> {
  await build({
    configFile: join(import.meta.dirname, "../../vite.config.ts"),
    logLevel: "error",
    build: { outDir: folder, ...(watches ? { watch: {} } : {}) },
  });
}
