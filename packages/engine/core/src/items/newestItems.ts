import type { ItemAddress, StoreItems, ItemSearch, StoredItem } from "../contract/items.ts";

/** How many items or namespaces a page has at most. */
export const largestPage = 512;

/** How often a search looks for items that were changed while it read. */
const mostPasses = 10;

/**
 * All items of a search, newest change first. An item that is changed between two pages moves to the front, before what is still to be
 * read. So those that were changed meanwhile are read once more at the end, unless they were there already.
 */
export async function* newestItems(
  stored: StoreItems,
  search: Pick<ItemSearch, "prefixes" | "tests">,
  first: number,
): AsyncGenerator<StoredItem> {
  const given = new Set<string>();
  let after: number | undefined;
  for (let pass = 0; pass < mostPasses; pass += 1) {
    let before: number | undefined;
    let newest: number | undefined;
    for (let limit = first; ; limit = Math.min(limit * 2, largestPage)) {
      const { items, more } = await stored.search({ ...search, before, after, limit });
      // Nothing can have moved before the only page.
      if (!more && pass === 0 && before === undefined) return yield* items;
      newest ??= items[0]?.version;
      for (const item of items) {
        const address = addressText(item);
        if (!given.has(address)) yield item;
        given.add(address);
      }
      if (!more) break;
      before = items.at(-1)!.version;
    }
    if (newest === undefined) return;
    after = newest;
  }
}

/** An address as text that no other has. */
export function addressText({ namespace, key }: ItemAddress): string {
  return JSON.stringify([...namespace, key]);
}
