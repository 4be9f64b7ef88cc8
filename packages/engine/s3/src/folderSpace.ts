import { statfs } from "node:fs/promises";
import type { CheckResult } from "@stratigraph/core/tier";

/** Less free space than this is a warning. Bytes. */
const leastFree = 1e9;

/** How much is free in the file system of a folder. */
export async function spaceOf(folder: string): Promise<CheckResult> {
  const { bavail, bsize, blocks } = await statfs(folder);
  const free = bavail * bsize;
  const found = `${(free / 1e9).toFixed(1)} GB of ${((blocks * bsize) / 1e9).toFixed(1)} GB are free.`;
  if (free >= leastFree) return { status: "ok", found };
  return { status: "warning", found, advice: "stratigraph prune, or move the folder to a larger disk" };
}
