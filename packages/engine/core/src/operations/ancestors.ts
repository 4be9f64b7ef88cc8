import type { CheckpointRecord } from "../contract/tier.ts";

type Records = ReadonlyMap<string, { readonly record: CheckpointRecord }>;

/**
 * The checkpoint `from` and its ancestors among `records`, nearest first. Ends at the first one that isn't among them.
 * @param records checkpoints of one namespace by id
 * @param limits `ancestors`: how many at most, `from` not counted. `until`: ends once each of these terms was met on an ancestor
 */
export function ancestorsFrom(
  records: Records | undefined,
  from: string,
  limits: { readonly ancestors: number; readonly until?: readonly number[] | undefined } = {
    ancestors: Number.POSITIVE_INFINITY,
  },
): CheckpointRecord[] {
  const found: CheckpointRecord[] = [];
  const unmet = limits.until === undefined ? undefined : new Set(limits.until);
  for (let next = records?.get(from); next !== undefined;) {
    const { record } = next;
    if (found.length > 0) for (const term of record.terms) unmet?.delete(term);
    found.push(record);
    const ends = found.length > Math.min(limits.ancestors, records!.size) || unmet?.size === 0;
    next = ends || record.parentId === undefined ? undefined : records!.get(record.parentId);
  }
  return found;
}
