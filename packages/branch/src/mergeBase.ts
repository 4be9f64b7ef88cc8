import { NotFoundError, type TierSaver } from "@stratigraph/core";
import { checkPoint } from "./checkPoint.ts";
import { checkSaver } from "./checkSaver.ts";
import { History } from "./history.ts";
import { readPoint, type Point } from "./readPoint.ts";

/** The checkpoint where two histories parted. */
export interface MergeBase {
  readonly checkpointId: string;
  /** A thread that still has it; undefined where none of those that were read does. */
  readonly threadId: string | undefined;
  /**
   * All nearest common ancestors, newest first. There are several where the histories were merged into each other crosswise; a
   * merge then starts from these, merged with each other.
   */
  readonly all: readonly string[];
}

/**
 * The nearest checkpoint that two points both descend from, across forks of forks, merges and side branches of one
 * thread; undefined where they have none. A thread id stands for the thread's head.
 * @throws NotFoundError where a point isn't there; InvalidOptionError, InvalidAddressError
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

/** As {@link mergeBase}, in a history that may have some of the threads already. */
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
  // Read the threads that these were forked from only as far as needed: they may be long, or gone.
  for (const threadId of threads) {
    await history.add(saver, threadId);
    await history.addMerged(saver, a.checkpointId, b.checkpointId);
    const found = nearestCommon(history, a.checkpointId, b.checkpointId);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** The common ancestors that no other common ancestor descends from; undefined where there are none. */
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
