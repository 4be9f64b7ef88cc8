import type { Tier } from "@stratigraph/core";
import { readsAncestry } from "@stratigraph/core/internal";
import type { Address, StoredCheckpoint } from "@stratigraph/core/tier";

/** Reads a checkpoint of the cold tier and its ancestors, nearest first, until every term in `open` was found. */
export async function withAncestors(
  cold: Tier,
  at: Address,
  open: ReadonlySet<number>,
  limit: number,
): Promise<StoredCheckpoint[]> {
  const { checkpoint } = await cold.read(at);
  if (checkpoint === undefined) return [];
  const left = new Set([...open].filter((term) => !checkpoint.record.terms.includes(term)));
  if (left.size === 0 || limit <= 1) return [checkpoint];
  return [checkpoint, ...(await ancestorsOf(cold, at, left, limit - 1))];
}

/** Reads the ancestors of a checkpoint, nearest first, until every term in `open` was found. */
export async function ancestorsOf(
  cold: Tier,
  at: Address,
  open: ReadonlySet<number>,
  limit: number,
): Promise<readonly StoredCheckpoint[]> {
  if (readsAncestry(cold)) return await cold.ancestry(at, [...open], limit);
  const found: StoredCheckpoint[] = [];
  const left = new Set(open);
  let record = (await cold.read(at)).checkpoint?.record;
  while (record?.parentId !== undefined && left.size > 0 && found.length < limit) {
    const { checkpoint } = await cold.read({ ...at, checkpointId: record.parentId });
    if (checkpoint === undefined) break;
    found.push(checkpoint);
    for (const term of checkpoint.record.terms) left.delete(term);
    ({ record } = checkpoint);
  }
  return found;
}
