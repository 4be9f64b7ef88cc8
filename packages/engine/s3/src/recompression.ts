import { codecTags, pack, unpack } from "@stratigraph/core/internal";
import type { StoredForm } from "./entries.ts";

/**
 * The options with which core compresses values. A pack stores such values uncompressed, so that they are compressed together, and core's
 * compression is repeated when they are read. The position + 1 is the recompression's number in the stored format; 0 means that the bytes
 * are stored unchanged.
 */
const recompressions = [{}, { level: 9 }] as const;

/** The largest value that is stored uncompressed, in bytes: the most that zstd's WASM heap compresses in one frame. */
const largestUnpacked = 1 << 20;

function isSame(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && Buffer.compare(a, b) === 0;
}

/**
 * The form in which bytes are stored in a pack. Bytes that core compressed are stored uncompressed if compressing them again gives exactly
 * the same bytes. All others (encrypted ones, for instance) are stored unchanged.
 */
export async function storedForm(bytes: Uint8Array): Promise<StoredForm> {
  const asItIs = { bytes, recompression: 0 };
  if (bytes[0] !== codecTags.zstd && bytes[0] !== codecTags.zstdWithDictionary) return asItIs;
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
 * The inverse of {@link storedForm}. With another version of zstd the bytes may differ, but they decompress to the same content.
 * @throws RangeError if this version doesn't know the recompression
 */
export async function originalBytes({ bytes, recompression }: StoredForm): Promise<Uint8Array> {
  if (recompression === 0) return bytes;
  const options = recompressions[recompression - 1];
  if (options === undefined)
    throw new RangeError(`unknown recompression ${recompression}; a newer version may have written it`);
  return await pack(bytes, options);
}
