import type { Tier } from "@stratigraph/core";
import type { ThreadUse } from "./trace.ts";

/** Bytes of values and records, which nobody decodes: they are counted only. */
const zeros = Buffer.alloc(1 << 20);
/** What a record takes, in bytes, about. */
export const recordBytes = 600;

/**
 * Appends a checkpoint with one value, a patch on the one before, so that reading it takes all bytes that were written.
 * @param heads how many checkpoints each thread has
 */
export async function writeCheckpoint(
  tier: Tier,
  { thread, bytes }: ThreadUse,
  heads: Map<string, number>,
): Promise<void> {
  const n = (heads.get(thread) ?? 0) + 1;
  heads.set(thread, n);
  const [hash, before] = [hashOf(n), hashOf(n - 1)];
  const value = zeros.subarray(0, Math.min(zeros.length, Math.max(0, bytes - recordBytes)));
  const at = { threadId: thread, namespace: "", checkpointId: hash };
  const record = { ...at, terms: [], blobs: [hash], body: zeros.subarray(0, recordBytes) };
  await tier.append({
    threadId: thread,
    records: [n === 1 ? record : { ...record, parentId: before }],
    blobs: [n === 1 ? { hash, bytes: value } : { hash, base: before, bytes: value }],
    heads: [{ namespace: "", to: hash, expected: "any" }],
    onConflict: "refuse",
  });
}

/** Like a hash, and in the order of `n`. */
function hashOf(n: number): string {
  return n.toString(16).padStart(40, "0");
}
