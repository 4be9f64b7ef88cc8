import { pack, unpack } from "@stratigraph/core";
import type { StoredForm } from "./entries.ts";

/**
 * How core compressed values that a pack stores uncompressed, so that one compression window covers many of them. Position + 1
 * is the recompression's number in the stored format; 0 means that the bytes are stored as they came.
 */
const recompressions = [{}, { level: 9 }] as const;

/** Largest content that is stored uncompressed, in bytes: what zstd's WASM heap compresses in one frame. */
const largestUnpacked = 1 << 20;

function isSame(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && Buffer.compare(a, b) === 0;
}

/**
 * The form in which bytes go into a pack. Bytes that core compressed are stored uncompressed if compressing them again
 * gives exactly the same bytes; all others (encrypted ones, foreign ones) as they are.
 */
export async function storedForm(bytes: Uint8Array): Promise<StoredForm> {
  const asItIs = { bytes, recompression: 0 };
  // Core's tags for zstd, without and with dictionary.
  if (bytes[0] !== 1 && bytes[0] !== 2) return asItIs;
  let raw: Uint8Array;
  try {
    raw = await unpack(bytes, largestUnpacked);
  } catch {
    return asItIs;
  }
  for (const [position, options] of recompressions.entries())
    if (isSame(await pack(raw, options), bytes)) return { bytes: raw, recompression: position + 1 };
  return asItIs;
}

/**
 * The bytes that {@link storedForm} was given. Another version of zstd may make other bytes, which decompress to the same
 * content.
 * @throws RangeError on a recompression that this version doesn't know
 */
export async function originalBytes({ bytes, recompression }: StoredForm): Promise<Uint8Array> {
  if (recompression === 0) return bytes;
  const options = recompressions[recompression - 1];
  if (options === undefined)
    throw new RangeError(`unknown recompression ${recompression}; a newer version may have written it`);
  return await pack(bytes, options);
}
