import { inParallel, type StoreItems } from "@stratigraph/core/internal";
import type {
  ItemAddress,
  ItemNamespacesQuery,
  ItemPage,
  ItemSearch,
  StoredItem,
} from "@stratigraph/core/tier";
import { refuseTrimmed } from "./follow.ts";
import { stateOf, type Parts } from "./parts.ts";
import { commonPrefixes, isWithin, type Prefixes } from "./workspaceItems.ts";

const page = 256;

/** The items of a workspace as they were at a version. A search reads all that are below its prefixes. */
export class PastItems implements StoreItems {
  readonly #parts: Parts;
  readonly #version: number;
  readonly #visible: Prefixes;

  constructor(parts: Parts, version: number, visible: Prefixes) {
    this.#parts = parts;
    this.#version = version;
    this.#visible = visible;
  }

  async read(addresses: readonly ItemAddress[]): Promise<(StoredItem | undefined)[]> {
    const found = Array.from<StoredItem | undefined>({ length: addresses.length });
    await inParallel([...addresses.entries()], 4, async ([place, { namespace, key }]) => {
      if (!isWithin(namespace, this.#visible)) return;
      const query = { version: this.#version, prefixes: [namespace], key, limit: 1 };
      found[place] = (await this.#parts.workspaces.itemsAt(this.#parts.name, query)).items[0];
    });
    await this.#refuseTrimmed();
    return found;
  }

  /** Items that a trim removed are missing in what was read. */
  async #refuseTrimmed(): Promise<void> {
    refuseTrimmed(this.#parts, await stateOf(this.#parts), this.#version);
  }

  change(): Promise<void> {
    return Promise.reject(new TypeError("the past can't be changed"));
  }

  async search({ prefixes, before = Infinity, after = 0, limit }: ItemSearch): Promise<ItemPage> {
    const found: StoredItem[] = [];
    for await (const item of this.all(prefixes))
      if (item.version < before && item.version > after) found.push(item);
    found.sort((a, b) => b.version - a.version);
    return { items: found.slice(0, limit), more: found.length > limit };
  }

  /** Items of workspaces have no vectors. */
  nearest(): Promise<ItemPage<never>> {
    return Promise.resolve({ items: [], more: false });
  }

  async namespaces({ prefixes, after, limit }: ItemNamespacesQuery): Promise<(readonly string[])[]> {
    const found = new Map<string, readonly string[]>();
    const last = after === undefined ? undefined : JSON.stringify(after);
    let begun = last === undefined;
    for await (const { namespace } of this.all(prefixes)) {
      const text = JSON.stringify(namespace);
      if (begun && text !== last) found.set(text, namespace);
      begun ||= text === last;
      if (found.size === limit) break;
    }
    return [...found.values()];
  }

  /** All items below these prefixes, in the order of their addresses. */
  async *all(asked: Prefixes): AsyncGenerator<StoredItem> {
    const prefixes = commonPrefixes(asked, this.#visible);
    if (prefixes.length === 0) return;
    const { workspaces, name } = this.#parts;
    let after: ItemAddress | undefined;
    for (;;) {
      const query = { version: this.#version, prefixes, after, limit: page };
      const { items, more } = await workspaces.itemsAt(name, query);
      await this.#refuseTrimmed();
      yield* items;
      if (!more) return;
      const { namespace, key } = items.at(-1)!;
      after = { namespace, key };
    }
  }
}
