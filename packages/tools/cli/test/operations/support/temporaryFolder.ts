import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";

/** An empty folder, which is removed when the test ends. */
export function temporaryFolder(): string {
  const path = mkdtempSync(join(tmpdir(), "stratigraph-"));
  onTestFinished(() => rmSync(path, { recursive: true, force: true }));
  return path;
}
