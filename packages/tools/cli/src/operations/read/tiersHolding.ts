import type { Tier } from "@stratigraph/core";
import { layersOf } from "@stratigraph/core/internal";
import type { Namespace, StackLayer } from "@stratigraph/core/tier";

/**
 * Returns which tiers of a stack hold the records of a page of checkpoints; nothing for a tier that isn't a stack. Asks each tier for
 * one page.
 * @param before the page has only ids that sort before this one
 * @param page ids of checkpoints, in descending order
 * @returns `of`: for each id the `role:name` of its tiers; `missing`: the tiers that didn't answer
 */
export async function tiersHolding(
  tier: Tier,
  { threadId, namespace }: Namespace,
  before: string | undefined,
  page: readonly string[],
): Promise<{ of: Map<string, string[]>; missing: string[] }> {
  const of = new Map<string, string[]>();
  const missing: string[] = [];
  const layers = layersOf(tier);
  const last = page.at(-1);
  if (layers.length < 2 || last === undefined) return { of, missing };
  const asked = async ({ role, tier: layer }: StackLayer): Promise<readonly string[] | undefined> => {
    const held: string[] = [];
    try {
      const query = { threadId, namespace, before, recordsOnly: true, limit: page.length };
      for await (const { record } of layer.list(query)) {
        if (record.checkpointId < last) break;
        held.push(record.checkpointId);
      }
      return held;
    } catch {
      missing.push(`${role}:${layer.name}`);
      return undefined;
    }
  };
  const answers = await Promise.all(layers.map(asked));
  for (const [n, { role, tier: layer }] of layers.entries())
    for (const id of answers[n] ?? []) of.set(id, [...(of.get(id) ?? []), `${role}:${layer.name}`]);
  return { of, missing };
}
