import type { CacheOptions, TierCache } from "@stratigraph/core";
import type { CheckpointerConfig } from "./config.ts";
import { createCheckpointer } from "./createCheckpointer.ts";

/**
 * Opens a cache of what nodes and tasks return, on the storage that a plain object or a URL describes, as {@link createCheckpointer} does.
 * `compile({ cache })` and `entrypoint({ cache })` take it. Its `end()` closes what was opened here. Where there is a checkpointer already,
 * `checkpointer.cache()` shares its connections.
 *
 * @example
 * const cache = await createCache({ redis: "redis://localhost:6379" }, { ttl: "1h" });
 * const graph = new StateGraph(State).addNode("search", search, { cachePolicy: { ttl: 60 } }).compile({ cache });
 * @throws InvalidOptionError if the storage keeps no caches, and as {@link createCheckpointer}
 */
export async function createCache(
  config: CheckpointerConfig | string,
  options: CacheOptions = {},
): Promise<TierCache> {
  const saver = await createCheckpointer(config);
  try {
    return saver.cache(options).closing(() => saver.end());
  } catch (error) {
    await saver.end().catch(() => undefined);
    throw error;
  }
}
