import { postgres, type PostgresTier, type ShardedTier } from "@stratigraph/postgres";
import type { Place } from "../savers.ts";

/** Where a tier is: one database, or several over which threads are spread. */
export interface TierPlace extends Place {
  shards?: readonly string[];
}

/**
 * Opens a tier.
 * @param settings of each session, as the connection parameter "options" has them
 */
export function openPlace({ url, schema, shards }: TierPlace, settings?: string): PostgresTier | ShardedTier {
  const of = (text: string): string => {
    if (settings === undefined) return text;
    const parsed = new URL(text);
    parsed.searchParams.set("options", settings);
    return parsed.href;
  };
  return shards === undefined
    ? postgres({ url: of(url), schema })
    : postgres({ shards: shards.map(of), schema });
}
