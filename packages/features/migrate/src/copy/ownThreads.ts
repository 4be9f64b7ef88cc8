import type { StratigraphError, Tier } from "@stratigraph/core";
import { RunsUnderWay, threadNamedBy } from "@stratigraph/core/internal";
import type { SourceSelection } from "../contract/source.ts";
import { isOfOneThread } from "./isOfOneThread.ts";

/**
 * The thread ids of a Stratigraph storage that are to be copied. They are sorted, as writes change the order in the storage.
 * Archived threads are among them, and those whose head is damaged, if it is known whose it is.
 * @param unnamed gets the errors of the others
 */
export async function ownThreads(
  tier: Tier,
  { threadIds, after }: SourceSelection = {},
  unnamed: StratigraphError[] = [],
): Promise<readonly string[]> {
  if (threadIds !== undefined) return threadIds;
  // A run that was stopped may still begin a thread.
  await RunsUnderWay.of(tier).othersEnded({});
  const ids: string[] = [];
  const onDamaged = (error: Error): void => {
    if (!isOfOneThread(error)) throw error;
    const threadId = threadNamedBy(error);
    if (threadId === undefined) unnamed.push(error);
    else ids.push(threadId);
  };
  for await (const { threadId } of tier.threads({ onDamaged })) ids.push(threadId);
  return ids.filter((threadId) => after === undefined || threadId > after).sort();
}

/** The difference that is reported for a thread that isn't here, or not all of it: the rest is in its archive. */
export const onlyHead = "its checkpoints aren't in this storage; open it together with its archive";
