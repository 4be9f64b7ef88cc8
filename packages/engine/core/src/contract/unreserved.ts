import { addressKey } from "./keys.ts";
import { isReserved } from "./reservedNamespaces.ts";
import type { ListedCheckpoint, ListQuery, Tier } from "./tier.ts";

/**
 * Checkpoints as {@link Tier.list} yields them, without those in {@link reservedNamespaces}. The query's limit counts what is left. If
 * reserved ones used up a part of it, the tier is asked for more; only short listings need that.
 */
export async function* unreserved(tier: Tier, query: ListQuery): AsyncGenerator<ListedCheckpoint> {
  const { namespace, limit = Number.POSITIVE_INFINITY } = query;
  if (namespace !== undefined) {
    if (!isReserved(namespace)) yield* tier.list(query);
    return;
  }
  const yielded = new Set<string>();
  for (let hidden = 0; ;) {
    const asked = limit + hidden;
    let [listed, reserved] = [0, 0];
    for await (const stored of tier.list({ ...query, ...(Number.isFinite(asked) ? { limit: asked } : {}) })) {
      listed += 1;
      if (isReserved(stored.record.namespace)) {
        reserved += 1;
        continue;
      }
      const key = addressKey(stored.record, stored.record.checkpointId);
      if (Number.isFinite(limit)) {
        if (yielded.has(key)) continue;
        yielded.add(key);
      }
      yield stored;
      if (yielded.size === limit) return;
    }
    if (listed < asked || reserved <= hidden) return;
    // Four times as many, so that a thread with thousands of such records is asked a few times, and not once for each.
    hidden = Math.max(reserved, 4 * hidden);
  }
}
