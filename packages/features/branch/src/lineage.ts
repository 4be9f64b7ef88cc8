import type { TierSaver } from "@stratigraph/core";
import { checkThread } from "./checkPoint.ts";
import { checkSaver } from "./checkSaver.ts";
import type { ThreadRef } from "./readPoint.ts";
import { readReflog, type Origin } from "./reflog.ts";

/**
 * Where a thread comes from: first its own origin, then the origin of the thread it was forked from, and so on. Empty if the thread
 * isn't a fork. The thread itself stores its lineage, so pruning, archiving or deleting the other threads doesn't matter.
 * @throws EvictedError, InvalidOptionError, InvalidAddressError, CorruptionError
 */
export async function lineage(saver: TierSaver, thread: ThreadRef): Promise<readonly Origin[]> {
  checkSaver("lineage", saver);
  return (await readReflog(saver, checkThread("thread", thread))).lineage;
}
