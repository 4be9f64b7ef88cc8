import type { WorkspaceChange } from "../contract/workspaces.ts";
import {
  isBelow,
  namespaceOfPath,
  namespacePath,
  type ItemAddress,
  type ItemBytes,
  type ItemChange,
  type ItemNamespacesQuery,
  type ItemPage,
  type ItemRead,
  type ItemSearch,
  type Items,
  type NearestItemsQuery,
  type NearItem,
  type StoredItem,
} from "../contract/items.ts";

interface Kept extends StoredItem {
  readonly expiresAtMs: number;
  readonly vectors: readonly Float32Array[];
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

  async read(addresses: readonly ItemRead[]): Promise<(StoredItem | undefined)[]> {
    return await this.#run("items.read", () =>
      addresses.map((at) => {
        const item = this.get(at);
        const { refreshMs } = at;
        if (item === undefined || refreshMs === undefined || item.expiresAtMs === Infinity) return item;
        if (item.expiresAtMs - this.#now() <= 0.9 * refreshMs) this.touch(at, refreshMs);
        return item;
      }),
    );
  }

  /** The item at an address, if there is one. */
  get({ namespace, key }: ItemAddress): Kept | undefined {
    return this.#live(this.#items.get(pathText(namespace))?.get(key));
  }

  /** A version larger than all before it. */
  nextVersion(): number {
    return (this.#version += 1);
  }

  /** Gives an item that is there a new time to live. Returns its version. */
  touch({ namespace, key }: ItemAddress, ttlMs = Infinity): number | undefined {
    const items = this.#items.get(pathText(namespace));
    const item = this.#live(items?.get(key));
    if (item !== undefined) items!.set(key, { ...item, expiresAtMs: this.#now() + ttlMs });
    return item?.version;
  }

  /** Gives the item of a version other bytes. */
  setBytes({ namespace, key }: ItemAddress, version: number, bytes: Pick<Kept, "note" | "value">): void {
    const items = this.#items.get(pathText(namespace));
    const item = items?.get(key);
    if (item?.version === version) items!.set(key, { ...item, ...bytes });
  }

  async change(changes: readonly ItemChange[]): Promise<void> {
    await this.#run("items.change", () => {
      for (const change of changes) this.set(change, this.nextVersion());
    });
  }

  /** Puts or deletes an item. */
  set(change: WorkspaceChange, version: number, now = this.#now()): void {
    const { namespace, key, value, ttlMs, note, vectors = [] } = change;
    const path = pathText(namespace);
    const items = this.#items.get(path) ?? new Map<string, Kept>();
    const createdAtMs = this.#live(items.get(key))?.createdAtMs ?? now;
    const expiresAtMs = this.#now() + (ttlMs ?? Infinity);
    if (value === undefined) items.delete(key);
    else
      items.set(key, {
        ...{ namespace: [...namespace], key, value, version },
        ...{ createdAtMs, updatedAtMs: now, expiresAtMs, note, vectors },
      });
    if (items.size === 0) this.#items.delete(path);
    else this.#items.set(path, items);
  }

  /** Deletes the items of namespaces that begin with certain labels, whatever follows. */
  deleteBelow(prefix: readonly string[]): void {
    const begins = pathText(prefix);
    for (const path of this.#items.keys()) if (path.startsWith(begins)) this.#items.delete(path);
  }

  async search(search: ItemSearch): Promise<ItemPage> {
    return await this.#run("items.search", () => this.#search(search));
  }

  async all(page: Pick<ItemSearch, "before" | "limit">): Promise<ItemPage> {
    return await this.#run("items.all", () => this.#search(page));
  }

  #search({
    prefixes,
    before = Infinity,
    after = 0,
    limit,
  }: Pick<ItemSearch, "before" | "after" | "limit"> & Partial<ItemSearch>): ItemPage {
    const items = this.#below(prefixes)
      .filter((item) => item.version < before && item.version > after)
      .sort((a, b) => b.version - a.version)
      .slice(0, limit);
    return { items, more: items.length === limit };
  }

  async nearest(query: NearestItemsQuery): Promise<ItemPage<NearItem>> {
    return await this.#run("items.nearest", () => this.#nearest(query));
  }

  #nearest({ prefixes, vector, beyond, limit }: NearestItemsQuery): ItemPage<NearItem> {
    const items = this.#below(prefixes)
      .map((item) => ({ ...item, similarity: Math.max(...item.vectors.map((one) => product(one, vector))) }))
      .filter((item) => beyond === undefined || byNearness(beyond, item) < 0)
      .sort(byNearness)
      .slice(0, limit);
    return { items, more: items.length === limit };
  }

  /** @param prefixes undefined: all */
  #below(prefixes: readonly (readonly string[])[] | undefined): Kept[] {
    const begins = prefixes?.map(pathText);
    return Array.from(this.#items)
      .filter(([path]) => begins === undefined || begins.some((prefix) => isBelow(path, prefix)))
      .flatMap(([, items]) => [...items.values()])
      .filter((item) => this.#live(item) !== undefined);
  }

  async replace(values: readonly ItemBytes[]): Promise<number> {
    return await this.#run("items.replace", () => {
      const bytes = new Map(values.map(({ version, value }) => [version, value]));
      let replaced = 0;
      for (const items of this.#items.values())
        for (const [key, item] of items) {
          const value = bytes.get(item.version);
          if (value === undefined) continue;
          items.set(key, { ...item, value, vectors: [] });
          replaced += 1;
        }
      return replaced;
    });
  }

  async namespaces(query: ItemNamespacesQuery): Promise<string[][]> {
    return await this.#run("items.namespaces", () => this.#namespaces(query));
  }

  #namespaces({ prefixes, after, limit }: ItemNamespacesQuery): string[][] {
    const begins = prefixes.map(pathText);
    const last = after === undefined ? "" : pathText(after);
    const isListed = (path: string, items: ReadonlyMap<string, Kept>): boolean =>
      begins.some((prefix) => isBelow(path, prefix)) &&
      path > last &&
      [...items.values()].some((item) => this.#live(item));
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

/** The sum of products of two vectors; -Infinity if their lengths differ. */
function product(a: Float32Array, b: Float32Array): number {
  if (a.length !== b.length) return -Infinity;
  let sum = 0;
  for (let n = 0; n < a.length; n += 1) sum += a[n]! * b[n]!;
  return sum;
}

type Nearness = Pick<NearItem, "similarity" | "version">;

function byNearness(a: Nearness, b: Nearness): number {
  return a.similarity === b.similarity ? b.version - a.version : a.similarity > b.similarity ? -1 : 1;
}

/** A namespace as text that sorts as its bytes do. */
export function pathText(namespace: readonly string[]): string {
  return namespacePath(namespace).toString("latin1");
}
