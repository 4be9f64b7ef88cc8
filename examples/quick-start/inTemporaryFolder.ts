// Imported first: the example's folder `.stratigraph` is then made in a place of its own, and goes when the process ends.
import { mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** The working directory from now on. */
export const folder = realpathSync(mkdtempSync(join(tmpdir(), "stratigraph-")));
process.chdir(folder);
process.once("exit", () => {
  process.chdir(tmpdir());
  rmSync(folder, { recursive: true, force: true });
});
