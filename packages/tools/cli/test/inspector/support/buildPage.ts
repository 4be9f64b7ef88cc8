import { join } from "node:path";
import { build } from "vite";

/** Builds the page into a folder. @param watches whether to build it again whenever a source changes */
export async function buildPage(folder: string, watches = false): Promise<void> {
  const { NODE_ENV } = process.env;
  // vitest says "test", and Vite would build another page than the one that is published.
  process.env["NODE_ENV"] = "production";
  try {
    await build({
      configFile: join(import.meta.dirname, "../../../vite.config.ts"),
      logLevel: "error",
      build: { outDir: folder, ...(watches ? { watch: {} } : {}) },
    });
  } finally {
    if (NODE_ENV === undefined) delete process.env["NODE_ENV"];
    else process.env["NODE_ENV"] = NODE_ENV;
  }
}
