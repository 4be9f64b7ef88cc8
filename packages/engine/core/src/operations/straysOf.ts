import type { Address, Tier } from "../contract/tier.ts";
import { inspectsThreads, isArchiveSource } from "../contract/tierExtensions.ts";

/** Checkpoints of a thread of which a tier has only pending writes; none if it can't say. */
export async function straysOf(tier: Tier, threadId: string): Promise<readonly Address[]> {
  if (isArchiveSource(tier)) return await tier.strays(threadId);
  return inspectsThreads(tier) ? ((await tier.inspect(threadId))?.strays ?? []) : [];
}
