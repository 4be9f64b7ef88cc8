import { createHash } from "node:crypto";
import {
  batchesOfChild,
  currentWrites,
  mergeWrites,
  pendingBatches,
  type Consumed,
  type RevivedBatch,
} from "@stratigraph/core/internal";
import { batchIdOf } from "../contract/outline.ts";
import type { Digests } from "./digest.ts";

/** A batch of pending writes whose values are digests. */
export interface DigestedBatch extends Omit<RevivedBatch, "writes"> {
  readonly writes: readonly { readonly index: number; readonly channel: string; readonly digest: string }[];
}

/** Digests of the batches of a checkpoint, in their order. */
export async function digested(
  digests: Digests,
  batches: readonly RevivedBatch[],
): Promise<readonly DigestedBatch[]> {
  const found: DigestedBatch[] = [];
  for (const batch of batches) {
    const writes: DigestedBatch["writes"][number][] = [];
    for (const { index, channel, value } of batch.writes)
      writes.push({ index, channel, digest: await digests.value(value) });
    found.push({ ...batch, writes });
  }
  return found;
}

/** What a batch is recognised by in another storage: its id, or its content. */
export function identityOf(batch: DigestedBatch): string {
  return batchIdOf(batch) ?? contentOf(batch);
}

/** What a batch says. */
function contentOf({ taskId, taskPath, stateVersion, writes }: DigestedBatch): string {
  return JSON.stringify([
    taskId,
    taskPath,
    stateVersion,
    writes.map(({ index, channel, digest }) => [index, channel, digest]),
  ]);
}

/** What LangGraph is shown of a checkpoint's batches: what is pending, or what a child was made from. */
function shownBy(batches: readonly DigestedBatch[]): string {
  const merged = mergeWrites(batches).map(({ taskPath, taskId, index, channel, stateVersion, digest }) => [
    taskPath,
    taskId,
    index,
    channel,
    stateVersion,
    digest,
  ]);
  return createHash("sha256").update(JSON.stringify(merged)).digest("base64url");
}

/** The digest of what is pending. */
export function pendingDigest(batches: readonly DigestedBatch[]): string {
  return shownBy(pendingBatches(currentWrites(batches)));
}

/** The digest of what a child's DeltaChannels are rebuilt from. */
export function madeDigest(
  batches: readonly DigestedBatch[],
  child: { readonly checkpointId: string; readonly consumed: Consumed },
): string {
  return shownBy(batchesOfChild(batches, child));
}

/** The batches of a source that a copy lacks, or has with another content. */
export function missingBatches(
  copy: readonly DigestedBatch[],
  source: readonly DigestedBatch[],
): readonly DigestedBatch[] {
  const there = new Map(copy.map((batch) => [identityOf(batch), contentOf(batch)]));
  // Marks are named differently in each storage; what they do is compared by what is pending, and what children were made from.
  return source.filter((batch) => {
    const content = there.get(identityOf(batch));
    return content === undefined || (batch.writes.length > 0 && content !== contentOf(batch));
  });
}
