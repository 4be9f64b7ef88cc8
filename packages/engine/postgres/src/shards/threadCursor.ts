import type { ThreadInfo } from "@stratigraph/core";
import type { ThreadQuery } from "@stratigraph/core/tier";

/** The id of no thread: no application's ids begin like this. */
const nowhere = "\u0001stratigraph.nowhere";

/**
 * Whether thread `a` comes before `b`. Threads are ordered by the minute in which they were written, then by their shards, and within
 * a shard in its own order; "newest" is the reverse order.
 */
export function precedes(
  order: ThreadQuery["order"],
): (a: readonly [number, ThreadInfo], b: readonly [number, ThreadInfo]) => boolean {
  const sign = order === "newest" ? -1 : 1;
  return ([shardA, a], [shardB, b]) => {
    const later = a.writtenAtMs - b.writtenAtMs;
    return sign * (later === 0 ? shardA - shardB : later) < 0;
  };
}

/**
 * The cursor with which a shard continues after a thread of any shard. A shard that doesn't have the thread continues at the minute
 * in which the thread was written, or after it, depending on which of the two shards comes first.
 * @param home the shard of the thread
 */
export function cursorIn(
  shard: number,
  { after }: Pick<ThreadQuery, "after">,
  home: number | undefined,
): ThreadInfo | undefined {
  if (after === undefined || home === undefined || shard === home) return after;
  // If the cursor's thread isn't there, "oldest" continues with threads written at that instant, and "newest" with those written before.
  return { ...after, threadId: nowhere, writtenAtMs: after.writtenAtMs + (shard < home ? 1 : 0) };
}
