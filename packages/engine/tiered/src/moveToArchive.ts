import type { Tier } from "@stratigraph/core";
import { dropLoose, type BlobCheck } from "@stratigraph/core/internal";
import type { MovedThread } from "@stratigraph/core/tier";
import { archiveThread } from "./archiveThread.ts";
import { markArchived } from "./archivedMark.ts";

/** The stack and tiers that moving a thread needs. */
export interface ArchivePlaces {
  readonly stack: Pick<Tier, "evict"> & { restoreWritten(threadId: string): Promise<void> };
  readonly warm: Tier;
  readonly cold: Tier;
}

/**
 * Copies a thread to the cold tier, reads it back, and only then lets the warm tier drop it, if nobody wrote to it meanwhile.
 * @returns undefined if the warm tier has no checkpoints of the thread
 * @throws StratigraphError "CORRUPT" if the copy differs from the original
 */
export async function moveToArchive(
  { stack, warm, cold }: ArchivePlaces,
  threadId: string,
  check: BlobCheck,
): Promise<MovedThread | undefined> {
  await stack.restoreWritten(threadId);
  // Nobody would find them in the archive, as they have no head.
  await dropLoose(warm, threadId);
  const copy = await archiveThread(warm, cold, threadId, check);
  if (copy === undefined) return undefined;
  if (copy === "overtaken") return { checkpoints: 0, bytes: 0, done: false };
  const revision = await markArchived(warm, threadId, copy.revision, copy.copiedAt);
  const done = revision !== undefined && (await stack.evict(threadId, revision));
  return { checkpoints: copy.checkpoints, bytes: copy.bytes, done };
}
