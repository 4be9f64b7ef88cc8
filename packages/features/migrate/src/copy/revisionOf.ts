import type { Tier } from "@stratigraph/core";
import { RunsUnderWay } from "@stratigraph/core/internal";

/**
 * The revision of a thread in a Stratigraph storage, once runs of this process that were stopped, or failed, have stored what they had done.
 * @throws StratigraphError "UNAVAILABLE" if that takes too long
 */
export async function revisionOf(tier: Tier, threadId: string): Promise<number> {
  await RunsUnderWay.of(tier).othersEnded({}, threadId);
  return (await tier.peek({ threadId, namespace: "" })).revision;
}
