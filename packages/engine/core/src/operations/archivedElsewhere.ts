import { EvictedError, headlessError, type StratigraphError } from "../contract/errors.ts";
import { reservedNamespaces } from "../contract/reservedNamespaces.ts";
import type { ListQuery, Namespace, ThreadQuery, Tier } from "../contract/tier.ts";
import {
  hasKeyCheckPlaces,
  keepsKeyChecks,
  ownersOf,
  type KeyCheckKeeper,
} from "../contract/tierExtensions.ts";
import { layersOf } from "./holding.ts";
import { withoutBytes } from "./withoutBytes.ts";

/** The metadata with which lists of LangGraph's API show a thread whose own is in an archive that isn't open. */
export const archivedKey = "stratigraph:archived";

/** The check value that is the id of a storage. Whoever archives the first thread of it sets it. */
export const archiveOwner = "archive owner";

/** Whether a part of a thread is in an archive that isn't open here. One small query, or none if an archive is open. */
export async function isArchivedElsewhere(tier: Tier, threadId: string): Promise<boolean> {
  if (hasArchive(tier)) return false;
  return (await tier.peek({ threadId, namespace: reservedNamespaces.archived })).head !== undefined;
}

/**
 * Refuses to take what is here of a thread for all of it.
 * @param at the namespace, or the checkpoint that isn't here
 * @throws EvictedError if a part of the thread is in an archive that isn't open
 */
export async function refusePart(
  tier: Tier,
  at: {
    readonly threadId: string;
    readonly namespace?: string | undefined;
    readonly checkpointId?: string | undefined;
  },
): Promise<void> {
  if (await isArchivedElsewhere(tier, at.threadId))
    throw new EvictedError(tier.name, { ...at, namespace: at.namespace ?? "" });
}

/**
 * Refuses to take a list of checkpoints that has ended for all of them.
 * @throws EvictedError if others are in an archive that isn't open. Of a list of all threads, only those are looked for of which nothing but
 * heads is here
 */
export async function refuseShortList(
  tier: Tier,
  { threadId, namespace, checkpointId }: Pick<ListQuery, "threadId" | "namespace" | "checkpointId">,
): Promise<void> {
  if (threadId !== undefined) {
    await refusePart(tier, { threadId, namespace, checkpointId });
    return;
  }
  if (hasArchive(tier)) return;
  for await (const thread of tier.threads({}))
    if (thread.evicted) await refusePart(tier, { threadId: thread.threadId });
}

/**
 * Refuses to take what is here of all threads for all that there is. One small query if nothing was ever archived, or none if an archive is
 * open; otherwise one for each thread, until one is archived.
 * @throws EvictedError if a part of any thread is in an archive that isn't open
 */
export async function refuseParts(tier: Tier): Promise<void> {
  for await (const threadId of archivedElsewhere(tier)) await refusePart(tier, { threadId });
}

/** The threads of which a part is in an archive that isn't open. As many queries as {@link refuseParts}. @param onDamaged as of ThreadQuery */
export async function* archivedElsewhere(
  tier: Tier,
  onDamaged?: ThreadQuery["onDamaged"],
): AsyncGenerator<string> {
  if (hasArchive(tier) || !(await mayHaveArchived(tier))) return;
  for await (const { threadId } of tier.threads({ onDamaged }))
    if (await isArchivedElsewhere(tier, threadId)) yield threadId;
}

async function mayHaveArchived(tier: Tier): Promise<boolean> {
  const places = await idPlaces(tier);
  for (const place of places) if ((await place.keyChecks([archiveOwner])).has(archiveOwner)) return true;
  return places.length === 0;
}

/** The databases of a tier that owns threads that keep its id. Each of several has its own. */
export async function idPlaces(tier: Tier): Promise<(Tier & KeyCheckKeeper)[]> {
  const [owner] = ownersOf(tier);
  const warm = owner?.of ?? tier;
  return (hasKeyCheckPlaces(warm) ? await warm.keyCheckPlaces() : [warm]).filter(keepsKeyChecks);
}

function hasArchive(tier: Tier): boolean {
  return layersOf(tier).some(({ role }) => role === "cold");
}

/** The error for a namespace that had a head and has none: "EVICTED" if the thread's archive isn't open, otherwise "CORRUPT". */
export async function headlessOrEvicted(
  tier: Tier,
  { threadId, namespace }: Namespace,
): Promise<StratigraphError> {
  const at = { threadId, namespace };
  return (await isArchivedElsewhere(tier, threadId)) ? new EvictedError(tier.name, at) : headlessError(at);
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
    if (await isArchivedElsewhere(tier, threadId)) throw new EvictedError(tier.name, { ...at, checkpointId });
    if (checkpointId === undefined || record !== undefined) return;
    for await (const _ of tier.list({ ...at, checkpointId, recordsOnly: true, limit: 1 })) return;
    // It may have been pruned since, after the head moved on.
    if ((await tier.peek(at)).head === checkpointId) throw await withoutBytes(tier, { ...at, checkpointId });
  }
}
