import { EvictedError, lostHeadError, type StratigraphError } from "../contract/errors.ts";
import { reservedNamespaces } from "../contract/reservedNamespaces.ts";
import { inspectsThreads, ownersOf } from "../contract/tierExtensions.ts";
import type { Address, Tier } from "../contract/tier.ts";

/** The error for a head whose checkpoint isn't there: "EVICTED" if something of the thread was archived, otherwise "CORRUPT". */
export async function withoutBytes(tier: Tier, at: Address): Promise<StratigraphError> {
  const isArchived = await wasArchived(tier, at.threadId);
  if (!isArchived) return lostHeadError(tier.name, at);
  const [owner, archive] = ownersOf(tier);
  return archive === undefined
    ? new EvictedError(tier.name, at)
    : new EvictedError(archive.name, at, owner!.name);
}

/** Whether the owner of a thread says that something of it was archived, or evicted. */
export async function wasArchived(tier: Tier, threadId: string): Promise<boolean> {
  const { head } = await tier.peek({ threadId, namespace: reservedNamespaces.archived });
  if (head !== undefined) return true;
  const [owner] = ownersOf(tier);
  const inspector = owner?.of ?? owner;
  if (inspector === undefined || !inspectsThreads(inspector)) return false;
  return (await inspector.inspect(threadId))?.evicted === true;
}
