import type { StoreItems, NearestItemsQuery, NearItem } from "../contract/items.ts";
import { addressText } from "./newestItems.ts";

/** How many items a page has at most. A database compares all vectors for each page, so pages grow fast. */
const largestPage = 4096;

/**
 * Items of a search, most similar first, those without a vector at the end. Each is there once; who changes an item while pages are read may
 * move it to where it isn't read any more.
 * @param first the size of the first page
 */
export async function* nearestItems(
  items: StoreItems,
  query: Pick<NearestItemsQuery, "prefixes" | "tests" | "vector">,
  first: number,
): AsyncGenerator<NearItem> {
  const given = new Set<string>();
  let beyond: NearItem | undefined;
  for (let limit = first; ; limit = Math.min(limit * 4, largestPage)) {
    const page = await items.nearest({ ...query, beyond, limit });
    for (const item of page.items) {
      const address = addressText(item);
      if (!given.has(address)) yield item;
      given.add(address);
    }
    if (!page.more) return;
    beyond = page.items.at(-1);
  }
}
