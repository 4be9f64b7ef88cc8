import type { BatchOrigin } from "./pendingWrites.ts";
import type { Consumed } from "./record.ts";

/** The writer of a batch, by the id of the batch. */
export function writerOf(batchId: string): string {
  return batchId.slice(0, batchId.indexOf("."));
}

/** Ascending numbers, shortened: 3, 4, 5, 9 to "3-5", "9". */
export function ranges(numbers: readonly number[]): string[] {
  const found: [number, number][] = [];
  for (const number of numbers) {
    const last = found.at(-1);
    if (last !== undefined && last[1] + 1 === number) last[1] = number;
    else found.push([number, number]);
  }
  return found.map(([from, to]) => (from === to ? `${from}` : `${from}-${to}`));
}

/** The number in a batch's id. */
export function numberOf(batchId: string): number {
  return Number.parseInt(batchId.slice(batchId.indexOf(".") + 1), 10);
}

/**
 * The ids of the batches that a checkpoint says it was made from, and that its parent doesn't have. Of a range of ids, the first missing
 * one. None if the checkpoint doesn't say it: imported checkpoints don't, and those of older versions named only batches of others.
 */
export function missingBatches(
  batches: readonly Pick<BatchOrigin, "batchId">[],
  consumed: Consumed,
): readonly string[] {
  if (consumed === undefined || consumed.length === 1) return [];
  const there = new Set(
    batches.flatMap(({ batchId }) =>
      batchId === undefined ? [] : [`${writerOf(batchId)}.${numberOf(batchId)}`],
    ),
  );
  return consumed.slice(1).flatMap((range) => {
    const [from, to = from] = range.slice(range.indexOf(".") + 1).split("-");
    for (let number = Number(from); number <= Number(to); number += 1) {
      const id = `${writerOf(range)}.${number}`;
      if (!there.has(id)) return [id];
    }
    return [];
  });
}
