import type { Tier } from "@stratigraph/core";
import type { Address } from "@stratigraph/core/tier";

/** Whether a checkpoint is stored, in the archive included. */
export async function isStored(tier: Tier, at: Address): Promise<boolean> {
  for await (const _ of tier.list({ ...at, recordsOnly: true, limit: 1 })) return true;
  return false;
}
