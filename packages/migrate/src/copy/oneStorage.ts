import { StratigraphError, type Tier } from "@stratigraph/core";
import { keepsLeases, layersOf } from "@stratigraph/core/internal";
import { randomUUID } from "node:crypto";

/** How long a lease stays that its process didn't give back. Milliseconds. */
const forMs = 60_000;

/**
 * Whether a thread of two storages is in one place, so that deleting it in the one deletes it in the other: they are one storage, or share a
 * tier, or a shard. A lease that is taken in the one is looked for in the other. It has the thread's id for a name, as shards are chosen by it.
 * Tiers that keep no leases are compared as objects.
 * @throws StratigraphError "UNAVAILABLE" where another process asks the same at this moment
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
  if (!(await mine.lease(threadId, holder, forMs))) throw busy(threadId);
  try {
    const isFree = await theirs.lease(threadId, other, forMs);
    if (isFree) await theirs.lease(threadId, other, 0);
    return !isFree;
  } finally {
    await mine.lease(threadId, holder, 0);
  }
}

function busy(threadId: string): StratigraphError {
  const message =
    `Thread ${JSON.stringify(threadId)} wasn't deleted from the source: another process deletes moved threads at the same time, ` +
    "or uses a lease of that name. Its copy is whole; repeat the move once that one has ended.";
  return new StratigraphError("UNAVAILABLE", message, { threadId });
}

/** The tiers that own threads: not copies of them. */
function ownersIn(tier: Tier): readonly Tier[] {
  return layersOf(tier).flatMap((layer) => (layer.role === "hot" ? [] : [layer.tier]));
}
