import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TierSaver } from "@stratigraph/core";
import {
  exportThreads,
  importThreads,
  openSource,
  openTarget,
  type CopyOptions,
  type CopyReport,
} from "@stratigraph/migrate";
import { onTestFinished } from "vitest";

/** Copies all threads by a file. @param options of the import */
export async function throughFile(
  from: TierSaver,
  to: TierSaver,
  options?: CopyOptions,
): Promise<CopyReport> {
  const folder = mkdtempSync(join(tmpdir(), "stratigraph-through-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const file = join(folder, "threads.jsonl");
  const target = await openTarget(file);
  await exportThreads(from, target);
  await target.close();
  return await importThreads(await openSource(file), to, options);
}
