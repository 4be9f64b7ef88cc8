import type { PackRef } from "./packFile.ts";

/** Bytes that may lie in a head itself, and are written anew with every change. */
export const tailLimitBytes = 64 << 10;

/** A pack this large, in bytes, is no longer merged: it would be copied for too little. */
const sealedBytes = 64 << 20;

/** A pack is merged into the one before when it has this part of its size, so that every byte is copied a few times only. */
const growth = 4;

/**
 * Which packs are written anew, together with what lies in the head; undefined: nothing is to be done. At most two packs
 * that may still grow are left, so that a thread is read in three requests.
 * @param packs oldest first
 * @param rewrite "all": bytes have to go; "open": one pack is to be left
 */
export function packsToMerge(
  packs: readonly PackRef[],
  tailBytes: number,
  rewrite: "all" | "open" | undefined,
): readonly PackRef[] | undefined {
  if (rewrite === "all") return packs;
  const open = packs.filter(({ size }) => size < sealedBytes);
  if (rewrite === "open") return open;
  if (tailBytes <= tailLimitBytes) return undefined;
  const [large, small] = open.slice(-2);
  if (large === undefined) return [];
  const grown = tailBytes + (small?.size ?? 0);
  if (grown * growth >= large.size) return open;
  return small === undefined ? [] : [small];
}
