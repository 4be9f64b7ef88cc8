import { validId, type TierSaver } from "@stratigraph/core";
import { readReflog, type Origin } from "./reflog.ts";

/**
 * Where a thread comes from: its own origin first, then that of the thread it was forked from, and so on. Empty for a
 * thread that isn't a fork. Told by the thread itself, so it stays true when the others are pruned, archived or deleted.
 */
export async function lineage(saver: TierSaver, threadId: string): Promise<readonly Origin[]> {
  return (await readReflog(saver, validId("threadId", threadId))).lineage;
}
