import type { Tier } from "@stratigraph/core";
import { isArchiveSource, isStacked } from "@stratigraph/core/internal";
import { tombstoneMs, type CheckResult } from "@stratigraph/core/tier";

const dayMs = 86_400_000;

/**
 * Whether maintenance runs. Storages don't record it. But it removes the remains of a deletion after a week, so older remains show
 * that it hasn't run since.
 * @param now milliseconds since 1970
 */
export async function maintenanceFinding(tier: Tier, now: number): Promise<CheckResult> {
  const unknown: CheckResult = {
    status: "unknown",
    found: "It isn't known when maintenance last ran: the storage doesn't record it.",
    advice: "stratigraph maintain --dry-run shows what is due",
  };
  const owner = isStacked(tier) ? tier.layers.find(({ role }) => role === "warm")?.tier : tier;
  if (owner === undefined || !isArchiveSource(owner)) return unknown;
  for await (const { deletedAtMs } of owner.tombstones({ onDamaged: () => undefined })) {
    const overdueMs = now - deletedAtMs - tombstoneMs;
    // Maintenance sweeps once an hour, a limited number of things at a time: so a day is no delay.
    if (overdueMs < dayMs) break;
    const days = Math.floor(overdueMs / dayMs);
    return {
      status: "warning",
      found: `Maintenance hasn't caught up for ${days} days or more: what remains of deletions from then is still there.`,
      advice: "stratigraph maintain (once), or stratigraph maintain --every 10m (a worker)",
    };
  }
  return unknown;
}
