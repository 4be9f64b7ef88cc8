import { CorruptionError, EvictedError, NotFoundError, type StratigraphError } from "../contract/errors.ts";
import type { Address, Tier } from "../contract/tier.ts";
import type { Consumed } from "../encode/record.ts";
import type { WriteCoder } from "../encode/writeCoder.ts";
import { isArchivedElsewhere } from "./archivedElsewhere.ts";

/** A checkpoint whose parent isn't there, and the DeltaChannels whose values began before it. */
export interface BrokenLine extends Address {
  readonly parentId: string;
  readonly channels: readonly string[];
}

const expiry =
  "Where threads expire or are evicted while they are in use, raise the storage's ttl or memory.";

/**
 * Makes the error for a read of DeltaChannels whose line of checkpoints breaks off. Pruning never breaks the line of a head. It may
 * break the line of an older checkpoint that it keeps only because newer ones need some of its data.
 * @param from the checkpoint that was asked for
 */
export async function brokenLineError(
  tier: Tier,
  from: Address,
  broken: BrokenLine,
): Promise<StratigraphError> {
  const { namespace, threadId, checkpointId, parentId, channels } = broken;
  const { head } = await tier.peek({ threadId, namespace });
  if (!(await isStored(tier, from)))
    return new NotFoundError(
      `Thread ${JSON.stringify(threadId)}, namespace ${JSON.stringify(namespace)}: checkpoint ${from.checkpointId} is no longer in tier ` +
        `${tier.name}: since it was read, it expired, was evicted, pruned or deleted, and what its DeltaChannels are rebuilt from with it. ` +
        expiry,
      { threadId, namespace, checkpointId: from.checkpointId, parentId, child: checkpointId, channels },
    );
  const data = { ...from, parentId, child: checkpointId, channels };
  const names = channels.map((channel) => JSON.stringify(channel)).join(", ");
  const what = `its value is rebuilt from what its ancestors wrote, and checkpoint ${parentId}, the parent of ${checkpointId}, isn't there`;
  if (await isArchivedElsewhere(tier, threadId)) return new EvictedError(tier.name, from);
  if (head === from.checkpointId) {
    const where = { ...data, channel: channels[0] };
    return new CorruptionError(where, what, undefined, { after: ` ${expiry}` });
  }
  return new NotFoundError(
    `Thread ${JSON.stringify(threadId)}, namespace ${JSON.stringify(namespace)}, checkpoint ${from.checkpointId}, channel ${names}: ${what}. ` +
      `It was pruned together with what this older checkpoint needs, or is lost: verify tells. Newer checkpoints can be read.`,
    data,
  );
}

/** The error of a put whose DeltaChannels need a parent, or its pending writes, that were stored once and no longer are. */
export function lostParent(
  tier: string,
  { threadId, namespace, checkpointId }: Address,
  parentId: string,
  channels: readonly string[],
): NotFoundError {
  return new NotFoundError(
    `Thread ${JSON.stringify(threadId)}, namespace ${JSON.stringify(namespace)}: checkpoint ${checkpointId} wasn't stored, because its ` +
      `parent ${parentId}, or a pending write of it, is no longer in tier ${tier}, and DeltaChannels (${channels.join(", ")}) only store what ` +
      `is new: the thread expired, was evicted, pruned or set back while this run was under way. ${expiry} Start a new run.`,
    { threadId, namespace, checkpointId, parentId, channels },
  );
}

/** Whether a tier has a checkpoint, even one that lacks values. */
export async function isStored(tier: Tier, at: Address): Promise<boolean> {
  for await (const _ of tier.list({ ...at, recordsOnly: true, limit: 1 })) return true;
  return false;
}

/** Whether a tier has a checkpoint with all pending writes that a child of it is made from. */
export async function isStoredWithWrites(
  tier: Tier,
  coder: WriteCoder,
  at: Address,
  consumed: Consumed,
): Promise<boolean> {
  for await (const { writes } of tier.list({ ...at, recordsOnly: true, limit: 1 }))
    return await coder.haveAll(at, writes, consumed);
  return false;
}
