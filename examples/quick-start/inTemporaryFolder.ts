// Import this first: it has the example create its folder `.stratigraph` in a temporary folder, which is removed at the end.
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
