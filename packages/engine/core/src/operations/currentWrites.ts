import { createHash } from "node:crypto";
import { nameLength, nameOf } from "../codec/index.ts";
import { rewindMark } from "./rewindMark.ts";
import type { WriteBatch } from "../contract/tier.ts";

/** A batch as it is stored, or one that was decoded and carries its {@link batchDigest}. */
export type NamedBatch =
  | Pick<WriteBatch, "taskId" | "body">
  | { readonly taskId: string; readonly name: string };

/**
 * Returns the batches of pending writes that count. Without `child`, those are the batches that a run sees if it goes on from their
 * checkpoint now; with `child`, the batches that this child was made from. All batches count, unless the checkpoint was wound back;
 * see {@link RewindMark}.
 *
 * Marks name batches instead of relying on their order, because batches may be added twice: by an append that is repeated, and
 * when an archived checkpoint is restored after new batches were added to it.
 *
 * @param batches all batches of the checkpoint, oldest first
 */
export function currentWrites<Batch extends NamedBatch>(
  batches: readonly Batch[],
  child?: string,
): readonly Batch[] {
  const marks = batches.map(({ taskId }) => rewindMark(taskId));
  if (!marks.some((mark) => mark !== undefined)) return batches;
  const written = batches.filter((_, place) => marks[place] === undefined);
  const own = child === undefined ? undefined : marks.find((mark) => mark?.made.includes(child) === true);
  if (own !== undefined) return named(written, own.before);
  let counts: Batch[] = [];
  for (const [place, batch] of batches.entries()) {
    const mark = marks[place];
    if (mark === undefined) {
      counts.push(batch);
      continue;
    }
    const before = new Set(mark.before);
    const later = counts.filter((one) => !before.has(digestOf(one)));
    const kept = named(batches.slice(0, place), mark.keep).filter((one) => !later.includes(one));
    counts = [...kept, ...later];
  }
  return counts;
}

/** The first batch of each digest. */
function named<Batch extends NamedBatch>(batches: readonly Batch[], digests: readonly string[]): Batch[] {
  const wanted = new Set(digests);
  return batches.filter((batch) => wanted.delete(digestOf(batch)));
}

function digestOf(batch: NamedBatch): string {
  return "name" in batch ? batch.name : batchDigest(batch);
}

/**
 * Names a batch among those of its checkpoint by its content, so that copies have the same name. 72 bits as base64url. A batch
 * that is re-encrypted keeps its name, because rewind marks refer to it.
 */
export function batchDigest(batch: Pick<WriteBatch, "taskId" | "body">): string {
  return batchName(batch).toString("base64url");
}

/** {@link batchDigest} as bytes. */
export function batchName({ taskId, body }: Pick<WriteBatch, "taskId" | "body">): Buffer {
  const kept = nameOf(body);
  if (kept !== undefined) return Buffer.from(kept);
  return createHash("sha256").update(`${taskId}\0`).update(body).digest().subarray(0, nameLength);
}
