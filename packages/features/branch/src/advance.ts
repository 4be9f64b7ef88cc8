import { CheckpointConflictError, type TierSaver } from "@stratigraph/core";
import type { Address } from "@stratigraph/core/tier";
import { checkPoint, checkThread } from "./checkPoint.ts";
import { checkSaver } from "./checkSaver.ts";
import { fastForward } from "./fastForward.ts";
import { History } from "./history.ts";
import { findMergeBase } from "./mergeBase.ts";
import { readPoint, type Point, type ThreadRef } from "./readPoint.ts";

/** What {@link advance} did. */
export interface Advanced extends Address {
  /** "already-merged": the target had the source's work, or the source has none of its own. */
  readonly status: "fast-forward" | "already-merged";
}

/**
 * Moves a thread's head forward to a point that descends from it, as {@link merge} does where there is nothing to merge. It needs no
 * graph.
 * @param target the thread whose head moves
 * @param source a point; a thread id stands for the thread's head
 * @returns the target's head
 * @throws CheckpointConflictError if the target has gone on since the source was forked, or does meanwhile: nothing was written;
 * NotFoundError, InvalidOptionError, InvalidAddressError
 */
export async function advance(
  saver: TierSaver,
  target: ThreadRef,
  source: string | Point,
): Promise<Advanced> {
  checkSaver("advance", saver);
  const threadId = checkThread("target", target);
  const point = checkPoint("source", source);
  // The remembered values may be patches on bases that another process has pruned.
  saver.coder.blobs.forgetThread(threadId);
  const [ours, theirs] = await Promise.all([readPoint(saver, { threadId }), readPoint(saver, point)]);
  const base = await findMergeBase(saver, new History(), ours.at, theirs.at);
  if (base?.checkpointId === theirs.at.checkpointId) return { ...ours.at, status: "already-merged" };
  if (base?.checkpointId !== ours.at.checkpointId) {
    const head = ours.at.checkpointId;
    const expected = base === undefined ? [] : [base.checkpointId];
    throw new CheckpointConflictError(
      { ...theirs.at, threadId, head, expected },
      `Thread ${JSON.stringify(threadId)} went on to ${head} since thread ${JSON.stringify(theirs.at.threadId)} was forked from it. ` +
        `Nothing was written. merge() combines the two.`,
    );
  }
  return { ...(await fastForward(saver, ours, theirs)), status: "fast-forward" };
}
