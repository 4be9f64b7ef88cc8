import type { StoreOptions, TierStore } from "@stratigraph/core";
import type { CheckpointerConfig } from "./config.ts";
import { createCheckpointer } from "./createCheckpointer.ts";

/**
 * Opens a store, LangGraph's long-term memory, on the storage that a plain object or a URL describes, as {@link createCheckpointer} does.
 * `compile({ store })` and `createAgent({ store })` take it. Its `end()` closes what was opened here. Where there is a checkpointer
 * already, `checkpointer.store()` shares its connections.
 *
 * @example
 * const store = await createStore({ postgres: "postgresql://user:password@localhost:5432/db" }, { ttl: "90d" });
 * await store.put(["users", "anna"], "drink", { text: "tea" });
 * @throws InvalidOptionError if the storage keeps no items, and as {@link createCheckpointer}
 */
export async function createStore(
  config: CheckpointerConfig | string,
  options: StoreOptions = {},
): Promise<TierStore> {
  const saver = await createCheckpointer(config);
  try {
    return saver.store(options).closing(() => saver.end());
  } catch (error) {
    await saver.end().catch(() => undefined);
    throw error;
  }
}
