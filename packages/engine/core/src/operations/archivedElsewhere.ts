import { EvictedError } from "../contract/errors.ts";
import { reservedNamespaces } from "../contract/reservedNamespaces.ts";
import type { Tier } from "../contract/tier.ts";
import { layersOf } from "./holding.ts";
import { withoutBytes } from "./withoutBytes.ts";

/** Whether a part of a thread is in an archive that isn't open here. One small query, or none if an archive is open. */
export async function isArchivedElsewhere(tier: Tier, threadId: string): Promise<boolean> {
  if (layersOf(tier).some(({ role }) => role === "cold")) return false;
  return (await tier.peek({ threadId, namespace: reservedNamespaces.archived })).head !== undefined;
}

/**
 * Refuses to write to a thread of which only heads are here: it was archived, and its archive isn't open, or another one is. For writers
 * that don't read a thread before they write to it, to whom it looks like a thread without checkpoints.
 * @throws EvictedError; CorruptionError if nothing of it was archived; StratigraphError "ARCHIVE_UNAVAILABLE"
 */
export async function refuseEvicted(tier: Tier, threadId: string): Promise<void> {
  const at = { threadId, namespace: "" };
  for (;;) {
    const { revision, head: checkpointId, record } = await tier.peek(at);
    if (revision === 0) return;
    if (await isArchivedElsewhere(tier, threadId))
      throw new EvictedError(tier.name, { ...at, checkpointId: checkpointId ?? "(none)" });
    if (checkpointId === undefined || record !== undefined) return;
    for await (const _ of tier.list({ ...at, checkpointId, recordsOnly: true, limit: 1 })) return;
    // It may have been pruned since, after the head moved on.
    if ((await tier.peek(at)).head === checkpointId) throw await withoutBytes(tier, { ...at, checkpointId });
  }
}
