import type { StoreItems } from "@stratigraph/core/internal";
import type {
  ItemAddress,
  ItemChange,
  ItemNamespacesQuery,
  ItemPage,
  ItemSearch,
  StoredItem,
} from "@stratigraph/core/tier";

/** Namespaces by their first labels. */
export type Prefixes = readonly (readonly string[])[];

/**
 * The items of one workspace, as {@link Items}: what LangGraph's store needs. Only namespaces below some prefixes are to be seen.
 */
export class WorkspaceItems implements StoreItems {
  readonly #items: StoreItems;
  readonly #realm: readonly string[];
  readonly #visible: Prefixes;
  readonly #change: (changes: readonly ItemChange[]) => Promise<void>;

  /** @param change makes changes of the workspace */
  constructor(
    items: StoreItems,
    name: string,
    visible: Prefixes,
    change: (changes: readonly ItemChange[]) => Promise<void>,
  ) {
    this.#items = items;
    this.#realm = ["", name];
    this.#visible = visible;
    this.#change = change;
  }

  async read(addresses: readonly ItemAddress[]): Promise<(StoredItem | undefined)[]> {
    const seen = addresses.filter(({ namespace }) => isWithin(namespace, this.#visible));
    const found =
      seen.length === 0
        ? []
        : await this.#items.read(
            seen.map(({ namespace, key }) => ({ namespace: [...this.#realm, ...namespace], key })),
          );
    const items = new Map(seen.map((address, place) => [address, found[place]]));
    return addresses.map((address) => this.#outside(items.get(address)));
  }

  async change(changes: readonly ItemChange[]): Promise<void> {
    await this.#change(changes);
  }

  async search(search: ItemSearch): Promise<ItemPage> {
    const prefixes = this.#prefixes(search.prefixes);
    if (prefixes.length === 0) return { items: [], more: false };
    const { items, more } = await this.#items.search({ ...search, prefixes });
    return { items: items.map((item) => this.#outside(item)!), more };
  }

  /** Items of workspaces have no vectors. */
  nearest(): Promise<ItemPage<never>> {
    return Promise.resolve({ items: [], more: false });
  }

  async namespaces(query: ItemNamespacesQuery): Promise<string[][]> {
    const prefixes = this.#prefixes(query.prefixes);
    if (prefixes.length === 0) return [];
    const after = query.after === undefined ? undefined : [...this.#realm, ...query.after];
    const found = await this.#items.namespaces({ ...query, prefixes, after });
    return found.map((namespace) => namespace.slice(this.#realm.length));
  }

  #prefixes(asked: Prefixes): Prefixes {
    return commonPrefixes(asked, this.#visible).map((prefix) => [...this.#realm, ...prefix]);
  }

  #outside(item: StoredItem | undefined): StoredItem | undefined {
    return item && { ...item, namespace: item.namespace.slice(this.#realm.length) };
  }
}

function begins(namespace: readonly string[], prefix: readonly string[]): boolean {
  return prefix.every((label, n) => label === namespace[n]);
}

/** Whether a namespace begins with one of the prefixes. */
export function isWithin(namespace: readonly string[], prefixes: Prefixes): boolean {
  return prefixes.some((prefix) => begins(namespace, prefix));
}

/** The namespaces that are below a prefix of each list. None of the result is the beginning of another. */
export function commonPrefixes(asked: Prefixes, visible: Prefixes): Prefixes {
  const both = asked.flatMap((one) =>
    visible.flatMap((other) => (begins(one, other) ? [one] : begins(other, one) ? [other] : [])),
  );
  return both.filter(
    (prefix, place) =>
      !both.some(
        (other, at) => at !== place && begins(prefix, other) && (other.length < prefix.length || at < place),
      ),
  );
}
