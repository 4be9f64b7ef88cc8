import type { Tier } from "@stratigraph/core";
import { expiresThreads } from "@stratigraph/core/internal";
import { AdaptiveTtl } from "./adaptiveTtl.ts";
import { longestTimes } from "./returnTimes.ts";

/**
 * Makes the use of threads decide how long copies stay in a tier. Undefined if they don't expire.
 * @param now the time in milliseconds since 1970
 */
export function adaptTtl(tier: Tier, now: () => number): AdaptiveTtl | undefined {
  if (!expiresThreads(tier) || tier.ttlMs === 0) return undefined;
  const { ttlMs } = tier;
  const adaptiveTtl = new AdaptiveTtl(ttlMs, now);
  tier.chooseTtl((threadId) => adaptiveTtl.ttlMsOf(threadId), longestTimes * ttlMs);
  return adaptiveTtl;
}
