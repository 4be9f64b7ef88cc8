import type { ItemAddress, StoreItems, ItemSearch, StoredItem } from "../contract/items.ts";

/** How many items or namespaces a page has at most. */
export const largestPage = 512;

/** How often a search looks for items that were changed while it read. */
const mostPasses = 10;

/** Changes get their versions before they are committed: so many of the last ones may not have been there when a pass began. */
const underWay = 500;

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
    let isNew = false;
    for (let limit = pass === 0 ? first : largestPage; ; limit = Math.min(limit * 2, largestPage)) {
      const { items, more } = await stored.search({ ...search, before, after, limit });
      // Nothing can have moved before the only page.
      if (!more && pass === 0 && before === undefined) return yield* items;
      newest ??= items[0]?.version;
      for (const item of items) {
        const address = addressText(item);
        if (given.has(address)) continue;
        isNew = true;
        given.add(address);
        yield item;
      }
      if (!more) break;
      before = items.at(-1)!.version;
    }
    if (newest === undefined || (pass > 0 && !isNew)) return;
    after = newest - underWay;
  }
}

/** An address as text that no other has. */
export function addressText({ namespace, key }: ItemAddress): string {
  return JSON.stringify([...namespace, key]);
}
