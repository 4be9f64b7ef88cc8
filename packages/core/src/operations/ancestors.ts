import type { CheckpointRecord } from "../contract/tier.ts";

type Records = ReadonlyMap<string, { readonly record: CheckpointRecord }>;

/** A checkpoint and its ancestors that are here, nearest first. */
export function line(
  records: Records | undefined,
  from: string,
  limits: { readonly ancestors: number; readonly until?: readonly number[] | undefined } = {
    ancestors: Number.POSITIVE_INFINITY,
  },
): CheckpointRecord[] {
  const found: CheckpointRecord[] = [];
  const open = limits.until === undefined ? undefined : new Set(limits.until);
  for (let next = records?.get(from); next !== undefined;) {
    const { record } = next;
    if (found.length > 0) for (const tag of record.tags) open?.delete(tag);
    found.push(record);
    const ends = found.length > Math.min(limits.ancestors, records!.size) || open?.size === 0;
    next = ends || record.parentId === undefined ? undefined : records!.get(record.parentId);
  }
  return found;
}
