import { existsSync } from "node:fs";
import { join, relative } from "node:path";

const root = join(import.meta.dirname, "../..");

/** The environment variable that names the folder of bundles, if vitest made some (childBundles.ts). */
export const BUNDLES = "STRATIGRAPH_TEST_CHILDREN";

/** A child lives for a second or two: compiling the embedded database's WASM a second time, for speed, would take half of its CPU. */
const QUICK_TO_START = ["--liftoff-only"];

/** How Node runs a TypeScript program with the packages' sources. */
export interface ChildProgram {
  path: string;
  execArgv: string[];
}

/** The bundle of a program. Without one, as in the bench and for programs of another checkout, the program itself through tsx. */
export function childProgram(scriptPath: string): ChildProgram {
  const folder = process.env[BUNDLES];
  if (folder !== undefined) {
    const path = join(folder, relative(root, scriptPath).replace(/\.ts$/, ".mjs"));
    if (existsSync(path)) return { path, execArgv: QUICK_TO_START };
  }
  return {
    path: scriptPath,
    execArgv: ["--import", import.meta.resolve("tsx"), "--conditions=@stratigraph/source"],
  };
}
