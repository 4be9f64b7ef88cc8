import { NotFoundError, type TierSaver } from "@stratigraph/core";
import { refusePart } from "@stratigraph/core/internal";
import { checkPoint } from "./checkPoint.ts";
import { checkSaver } from "./checkSaver.ts";
import { History } from "./history.ts";
import { readPoint, type Point } from "./readPoint.ts";

/** The checkpoint where two histories diverged. */
export interface MergeBase {
  readonly checkpointId: string;
  /** A thread that still has it. Undefined if none of the threads that were read has it. */
  readonly threadId: string | undefined;
  /**
   * All nearest common ancestors, newest first. There are several if each history was merged into the other. A merge then merges
   * these with each other first, and starts from the result.
   */
  readonly all: readonly string[];
}

/**
 * Finds the nearest checkpoint from which two points both descend, across forks of forks, merges, and side branches of one thread.
 * Undefined if there is none. A thread id stands for the thread's head.
 * @throws NotFoundError if a point doesn't exist; EvictedError if it may be in an archive that isn't open; InvalidOptionError, InvalidAddressError
 */
export async function mergeBase(
  saver: TierSaver,
  a: string | Point,
  b: string | Point,
): Promise<MergeBase | undefined> {
  checkSaver("mergeBase", saver);
  const [from, to] = [checkPoint("a", a), checkPoint("b", b)];
  const history = new History();
  const [one, other] = await Promise.all([rootOf(saver, from), rootOf(saver, to)]);
  return await findMergeBase(saver, history, one, other);
}

async function rootOf(saver: TierSaver, point: Point): Promise<{ threadId: string; checkpointId: string }> {
  const { at, metadata } = await readPoint(saver, point);
  const checkpointId = at.namespace === "" ? at.checkpointId : metadata.parents?.[""];
  if (checkpointId === undefined)
    throw new NotFoundError(`Checkpoint ${at.checkpointId} names no root checkpoint.`, { ...at });
  return { threadId: at.threadId, checkpointId };
}

/** As {@link mergeBase}, with a history that may already have some of the threads. */
export async function findMergeBase(
  saver: TierSaver,
  history: History,
  a: { threadId: string; checkpointId: string },
  b: { threadId: string; checkpointId: string },
): Promise<MergeBase | undefined> {
  const threads = [a.threadId, b.threadId];
  await history.add(saver, ...threads);
  for (const threadId of [...threads]) {
    for (const origin of history.reflogs.get(threadId)?.lineage ?? []) threads.push(origin.threadId);
  }
  // Add the threads that these were forked from only while no common ancestor is found: they may be long, or deleted.
  for (const threadId of threads) {
    await history.add(saver, threadId);
    await history.addMerged(saver, a.checkpointId, b.checkpointId);
    const found = nearestCommon(history, a.checkpointId, b.checkpointId);
    if (found !== undefined) return found;
  }
  for (const threadId of threads) await refusePart(saver.tier, { threadId });
  return undefined;
}

/** The common ancestors from which no other common ancestor descends. Undefined if there are none. */
export function nearestCommon(history: History, a: string, b: string): MergeBase | undefined {
  const ofB = history.ancestors(b);
  const common = [...history.ancestors(a)].filter((id) => ofB.has(id));
  const beyond = new Set<string>();
  for (const id of common) {
    if (beyond.has(id)) continue;
    for (const ancestor of history.ancestors(id)) if (ancestor !== id) beyond.add(ancestor);
  }
  const all = common.filter((id) => !beyond.has(id)).sort((x, y) => (x < y ? 1 : -1));
  const checkpointId = all[0];
  if (checkpointId === undefined) return undefined;
  return { checkpointId, threadId: history.nodes.get(checkpointId)?.threadIds[0], all };
}
