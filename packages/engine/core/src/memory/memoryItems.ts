import {
  namespaceOfPath,
  namespacePath,
  type ItemAddress,
  type ItemChange,
  type ItemNamespacesQuery,
  type ItemSearch,
  type Items,
  type StoredItem,
} from "../contract/items.ts";

interface Kept extends StoredItem {
  readonly expiresAtMs: number;
}

type Run = <T>(method: string, work: () => T) => Promise<T>;

/** The items of a {@link MemoryTier}. */
export class MemoryItems implements Items {
  /** By {@link namespacePath} as latin1, which sorts as the bytes do; then by key. */
  readonly #items = new Map<string, Map<string, Kept>>();
  readonly #now: () => number;
  readonly #run: Run;
  #version = 0;

  /** @param run makes a call of the tier, or refuses it after the end */
  constructor(now: () => number, run: Run) {
    this.#now = now;
    this.#run = run;
  }

  async read(addresses: readonly ItemAddress[]): Promise<(StoredItem | undefined)[]> {
    return await this.#run("items.read", () =>
      addresses.map(({ namespace, key }) => this.#live(this.#items.get(pathText(namespace))?.get(key))),
    );
  }

  async change(changes: readonly ItemChange[]): Promise<void> {
    await this.#run("items.change", () => this.#change(changes));
  }

  #change(changes: readonly ItemChange[]): void {
    const now = this.#now();
    for (const { namespace, key, value, ttlMs } of changes) {
      const path = pathText(namespace);
      const items = this.#items.get(path) ?? new Map<string, Kept>();
      const before = this.#live(items.get(key));
      if (value === undefined) items.delete(key);
      else
        items.set(key, {
          namespace: [...namespace],
          key,
          value,
          version: (this.#version += 1),
          createdAtMs: before?.createdAtMs ?? now,
          updatedAtMs: now,
          expiresAtMs: now + (ttlMs ?? Infinity),
        });
      if (items.size === 0) this.#items.delete(path);
      else this.#items.set(path, items);
    }
  }

  async search(search: ItemSearch): Promise<StoredItem[]> {
    return await this.#run("items.search", () => this.#search(search));
  }

  #search({ prefix, before = Infinity, after = 0, limit }: ItemSearch): StoredItem[] {
    const begins = pathText(prefix);
    return Array.from(this.#items)
      .filter(([path]) => path.startsWith(begins))
      .flatMap(([, items]) => [...items.values()])
      .filter((item) => item.version < before && item.version > after && this.#live(item) !== undefined)
      .sort((a, b) => b.version - a.version)
      .slice(0, limit);
  }

  async namespaces(query: ItemNamespacesQuery): Promise<string[][]> {
    return await this.#run("items.namespaces", () => this.#namespaces(query));
  }

  #namespaces({ prefix, after, limit }: ItemNamespacesQuery): string[][] {
    const begins = pathText(prefix);
    const last = after === undefined ? "" : pathText(after);
    const isListed = (path: string, items: ReadonlyMap<string, Kept>): boolean =>
      path.startsWith(begins) && path > last && [...items.values()].some((item) => this.#live(item));
    return Array.from(this.#items)
      .flatMap(([path, items]) => (isListed(path, items) ? [path] : []))
      .sort((a, b) => (a < b ? -1 : 1))
      .slice(0, limit)
      .map((path) => namespaceOfPath(Buffer.from(path, "latin1")));
  }

  /** Removes items whose time to live has passed. Returns how many. */
  sweep(): number {
    let swept = 0;
    for (const [path, items] of this.#items) {
      for (const [key, item] of items) if (this.#live(item) === undefined && items.delete(key)) swept += 1;
      if (items.size === 0) this.#items.delete(path);
    }
    return swept;
  }

  #live(item: Kept | undefined): Kept | undefined {
    return item !== undefined && item.expiresAtMs > this.#now() ? item : undefined;
  }
}

function pathText(namespace: readonly string[]): string {
  return namespacePath(namespace).toString("latin1");
}
