import type { PackRef } from "./packFile.ts";

/** How many bytes of entries the head itself may hold. They are rewritten with every change. */
export const tailLimitBytes = 64 << 10;

/** A pack of this size and more, in bytes, is closed: merging it would copy too much for too little gain. */
const closedBytes = 64 << 20;

/**
 * The most bytes that an import merges into one pack. An import may be one of many parts of a large thread: so each part is merged with at
 * most one pack before it, and little is held in memory.
 */
const importedBytes = 16 << 20;

/** A pack is merged with the one before it if that one is at most this many times as large. So each byte is copied only a few times. */
const growth = 4;

/**
 * Decides which packs are merged into a new one, together with the entries in the head. The list is
 * empty if only those entries go into the new pack; undefined means that no pack is made. Appends leave at most two open packs, so that a
 * thread without closed packs is read in three requests; the import of a large thread leaves more.
 * @param packs oldest first
 * @param rewrite "all": merge all packs, because bytes must be deleted; "open": leave one open pack, or several large ones
 */
export function packsToMerge(
  packs: readonly PackRef[],
  tailBytes: number,
  rewrite: "all" | "open" | undefined,
): readonly PackRef[] | undefined {
  if (rewrite === "all") return packs;
  const open = packs.filter(({ size }) => size < closedBytes);
  if (rewrite === "open") return lastOnes(open, importedBytes - tailBytes);
  if (tailBytes <= tailLimitBytes) return undefined;
  const [large, small] = open.slice(-2);
  if (large === undefined) return [];
  const grown = tailBytes + (small?.size ?? 0);
  if (grown * growth >= large.size) return open.slice(-2);
  return small === undefined ? [] : [small];
}

/** As many of the last packs as have at most this many bytes together. */
function lastOnes(packs: readonly PackRef[], bytes: number): readonly PackRef[] {
  let [first, left] = [packs.length, bytes];
  while (first > 0 && (left -= packs[first - 1]!.size) >= 0) first -= 1;
  return packs.slice(first);
}
