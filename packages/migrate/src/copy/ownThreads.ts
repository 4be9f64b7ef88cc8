import type { Tier } from "@stratigraph/core";
import type { SourceSelection } from "../contract/source.ts";

/**
 * The ids of a storage of ours that are to be copied, sorted: threads are written meanwhile, which changes their order in the storage.
 * Archived threads are among them.
 */
export async function ownThreads(
  tier: Tier,
  { threadIds, after }: SourceSelection = {},
): Promise<readonly string[]> {
  if (threadIds !== undefined) return threadIds;
  const ids: string[] = [];
  for await (const { threadId } of tier.threads({}))
    if (after === undefined || threadId > after) ids.push(threadId);
  return ids.sort();
}

/** What is told of a thread that is listed, and has no checkpoints. */
export const onlyHead = "its checkpoints aren't in this storage; open it together with its archive";
