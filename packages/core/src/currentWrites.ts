import { createHash } from "node:crypto";
import { rewindMark } from "./rewindMark.ts";
import type { WriteBatch } from "./tier.ts";

/**
 * The batches of pending writes that count: for whoever goes on from their checkpoint now, or, with `child`, those that
 * this checkpoint was made from. All of them, but where the checkpoint was wound back; see {@link RewindMark}.
 *
 * @param batches all batches of the checkpoint, oldest first
 */
export function currentWrites<Batch extends WriteBatch>(
  batches: readonly Batch[],
  child?: string,
): readonly Batch[] {
  let counts: Batch[] = [];
  const marks = new Set<string>();
  for (const [place, batch] of batches.entries()) {
    const mark = rewindMark(batch.taskId);
    if (mark === undefined) {
      counts.push(batch);
      continue;
    }
    if (child !== undefined && mark.made.includes(child)) return counts;
    // An append that was repeated brings its mark again, and must not drop what was written in between.
    if (marks.has(mark.id)) continue;
    marks.add(mark.id);
    const keep = new Set(mark.keep);
    counts = batches
      .slice(0, place)
      .filter((earlier) => rewindMark(earlier.taskId) === undefined && keep.delete(batchDigest(earlier)));
  }
  return counts;
}

/** Names a batch among those of its checkpoint by what it says, wherever it is copied to. 72 bits. */
export function batchDigest({ taskId, body }: WriteBatch): string {
  return createHash("sha256").update(`${taskId}\0`).update(body).digest("base64url").slice(0, 12);
}
