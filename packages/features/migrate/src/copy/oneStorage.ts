import { StratigraphError, type Tier } from "@stratigraph/core";
import { keepsLeases, layersOf, stopwatch } from "@stratigraph/core/internal";
import { randomUUID } from "node:crypto";

/** When a lease that isn't given back expires, in milliseconds. */
const forMs = 60_000;

/**
 * Whether two storages keep a thread in the same place, so that deleting it in one deletes it in the other: they are one storage, or
 * share a tier or a shard. The check takes a lease in one and looks for it in the other. The lease is named by the thread's id, as that
 * decides the shard. Tiers without leases are compared as objects.
 * @throws StratigraphError "UNAVAILABLE" if another process makes the same check at this moment, or this one was stopped meanwhile
 */
export async function isInOnePlace(from: Tier, to: Tier, threadId: string): Promise<boolean> {
  for (const mine of ownersIn(from))
    for (const theirs of ownersIn(to))
      if (mine === theirs || (await isOne(mine, theirs, threadId))) return true;
  return false;
}

async function isOne(mine: Tier, theirs: Tier, threadId: string): Promise<boolean> {
  if (!keepsLeases(mine) || !keepsLeases(theirs)) return false;
  const [holder, other] = [randomUUID(), randomUUID()];
  const ageMs = stopwatch();
  if (!(await mine.lease(threadId, holder, forMs))) throw busy(threadId);
  try {
    const isFree = await theirs.lease(threadId, other, forMs);
    if (isFree) await theirs.lease(threadId, other, 0);
    // A lease that has ended meanwhile is free in one storage, too, and then the thread would be deleted for good.
    if (isFree && ageMs() >= forMs) throw busy(threadId);
    return !isFree;
  } finally {
    await mine.lease(threadId, holder, 0);
  }
}

function busy(threadId: string): StratigraphError {
  const message =
    `Thread ${JSON.stringify(threadId)} wasn't deleted from the source: another process deletes moved threads at the same time, ` +
    "or uses a lease of that name, or this process was stopped for a minute. Its copy is whole; repeat the move once that process has ended.";
  return new StratigraphError("UNAVAILABLE", message, { threadId });
}

/** The tiers that own threads, without those that only hold copies. */
function ownersIn(tier: Tier): readonly Tier[] {
  return layersOf(tier).flatMap((layer) => (layer.role === "hot" ? [] : [layer.tier]));
}
