import { keyIdOf } from "../codec/index.ts";
import { StratigraphError } from "../contract/errors.ts";
import type { ItemBytes, Items, StoredItem } from "../contract/items.ts";
import type { Envelope } from "../encode/envelope.ts";
import { itemBinding } from "../encode/storedBody.ts";
import { itemError } from "../encode/valueErrors.ts";

/** How many items are read, and how many are replaced, at a time. A tier bounds their bytes. */
const itemsPerPage = 500;
/** How often a page is read at most, if somebody changes its items meanwhile. */
const attempts = 8;

/** All items of a tier. One that is changed meanwhile may be missing: it has its writer's active key by then. */
export async function* allItems(items: Items): AsyncGenerator<StoredItem> {
  for (let before: number | undefined, more = true; more;) {
    const page = await items.all({ before, limit: itemsPerPage });
    yield* page.items;
    ({ more } = page);
    before = page.items.at(-1)?.version;
  }
}

/** The id of the key that an item's value is encrypted with; undefined for none. @throws StratigraphError "CORRUPT", "NEWER_FORMAT" */
export function keyOfItem(item: StoredItem): string | undefined {
  try {
    return keyIdOf(item.value);
  } catch (cause) {
    throw itemError(item, "the key of its value can't be told", cause, "CORRUPT");
  }
}

/** What {@link reencryptItems} did with one page. */
export interface ItemsPageReport {
  /** How many were re-encrypted. */
  readonly items: number;
  /** The next page has the items before this version. Absent: that was all. */
  readonly next?: number | undefined;
  readonly failed: readonly StratigraphError[];
}

/**
 * Re-encrypts items that aren't encrypted with the active key, a page at a time. What somebody writes meanwhile stays.
 * @param before begins with the items before this version
 * @param isOfOne whether an error concerns one item alone, so that the work can go on
 */
export async function* reencryptItems(
  items: Items,
  envelope: Envelope,
  before: number | undefined,
  isOfOne: (error: unknown) => error is StratigraphError,
): AsyncGenerator<ItemsPageReport> {
  let [from, count] = [before, 0];
  for (let attempt = 1; ; attempt += 1) {
    const page = await items.all({ before: from, limit: itemsPerPage });
    const { values, failed } = await sealedAnew(page.items, envelope, isOfOne);
    const replaced = values.length === 0 ? 0 : await items.replace(values);
    count += replaced;
    const isDone = replaced === values.length;
    if (!isDone && attempt < attempts) continue;
    if (!isDone) failed.push(beingChanged());
    const next = page.more ? page.items.at(-1)!.version : undefined;
    yield { items: count, next, failed };
    if (next === undefined) return;
    [from, count, attempt] = [next, 0, 0];
  }
}

async function sealedAnew(
  items: readonly StoredItem[],
  envelope: Envelope,
  isOfOne: (error: unknown) => error is StratigraphError,
): Promise<{ values: ItemBytes[]; failed: StratigraphError[] }> {
  const values: ItemBytes[] = [];
  const failed: StratigraphError[] = [];
  for (const item of items) {
    try {
      if (keyOfItem(item) === envelope.activeKey) continue;
      const { namespace, key, version } = item;
      values.push({ namespace, key, version, value: await resealed(envelope, item) });
    } catch (error) {
      if (!isOfOne(error)) throw error;
      failed.push(error);
    }
  }
  return { values, failed };
}

async function resealed(envelope: Envelope, item: StoredItem): Promise<Uint8Array> {
  try {
    return await envelope.reseal(item.value, itemBinding(item));
  } catch (cause) {
    throw itemError(item, "it can't be encrypted anew", cause, "CORRUPT");
  }
}

function beingChanged(): StratigraphError {
  const message = `Items of the store were being changed during each of ${attempts} attempts to encrypt them anew. Repeat the call.`;
  return new StratigraphError("OVERLOADED", message, {});
}
