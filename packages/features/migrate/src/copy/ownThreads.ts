import type { Tier } from "@stratigraph/core";
import { RunsUnderWay } from "@stratigraph/core/internal";
import type { SourceSelection } from "../contract/source.ts";

/**
 * The thread ids of a Stratigraph storage that are to be copied. They are sorted, as writes change the order in the storage.
 * Archived threads are among them.
 */
export async function ownThreads(
  tier: Tier,
  { threadIds, after }: SourceSelection = {},
): Promise<readonly string[]> {
  if (threadIds !== undefined) return threadIds;
  // A run that was stopped may still begin a thread.
  await RunsUnderWay.of(tier).othersEnded({});
  const ids: string[] = [];
  for await (const { threadId } of tier.threads({}))
    if (after === undefined || threadId > after) ids.push(threadId);
  return ids.sort();
}

/** The difference that is reported for a thread that isn't here, or not all of it: the rest is in its archive. */
export const onlyHead = "its checkpoints aren't in this storage; open it together with its archive";
