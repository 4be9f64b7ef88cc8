import { checkSearchOptions, type TierStore } from "@stratigraph/core/internal";
import type { WorkspaceItem } from "./workspaceItem.ts";

/** Options of a search, as LangGraph's store has them. */
type SearchOptions = Parameters<TierStore["search"]>[1];

/** Options of a listing, as LangGraph's store has them. */
type ListOptions = Parameters<TierStore["listNamespaces"]>[0];

/** Reads of items, as LangGraph's store has them. */
export interface ItemReads {
  get(namespace: string[], key: string): Promise<WorkspaceItem | null>;
  search(namespacePrefix: string[], options?: SearchOptions): Promise<WorkspaceItem[]>;
  listNamespaces(options?: ListOptions): Promise<string[][]>;
}

/**
 * Reads of a store, by its `batch`: newer versions of LangGraph refuse labels such as `anna@mail.org` in the store's other methods, and a
 * workspace that takes them in changes has to give them back.
 */
export function readsOf(store: TierStore): ItemReads {
  return {
    get: async (namespace, key) => {
      const [item] = await store.batch([{ namespace, key }]);
      return item as WorkspaceItem | null;
    },
    search: async (namespacePrefix, options) => {
      checkSearchOptions(options, false);
      const [items] = await store.batch([{ ...options, namespacePrefix }]);
      return items as WorkspaceItem[];
    },
    listNamespaces: async ({ prefix, suffix, maxDepth, limit = 100, offset = 0 } = {}) => {
      const matchConditions = [
        ...(prefix ? [{ matchType: "prefix" as const, path: prefix }] : []),
        ...(suffix ? [{ matchType: "suffix" as const, path: suffix }] : []),
      ];
      const depth = maxDepth === undefined ? {} : { maxDepth };
      const [namespaces] = await store.batch([{ matchConditions, ...depth, limit, offset }]);
      return namespaces as unknown as string[][];
    },
  };
}
