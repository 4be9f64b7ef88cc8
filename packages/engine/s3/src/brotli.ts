import { brotliCompress, brotliDecompress, constants } from "node:zlib";
import { promisify } from "node:util";

const brotli = promisify(brotliCompress);
const unbrotli = promisify(brotliDecompress);

/**
 * Compresses with Brotli, off the event loop. Brotli is built into every supported Node and has a window of 16 MiB, while the
 * portable zstd has one of 1 MiB.
 * @param quality 0 to 11
 */
export async function compress(bytes: Uint8Array, quality: number): Promise<Uint8Array> {
  return await brotli(bytes, {
    params: {
      [constants.BROTLI_PARAM_QUALITY]: quality,
      [constants.BROTLI_PARAM_LGWIN]: constants.BROTLI_MAX_WINDOW_BITS,
      [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length,
    },
  });
}

/** @param size the content's size in bytes. @throws RangeError if the bytes are damaged, or the content has another size */
export async function decompress(bytes: Uint8Array, size: number): Promise<Uint8Array> {
  let content: Uint8Array;
  try {
    content = await unbrotli(bytes, { maxOutputLength: Math.max(1, size) });
  } catch (cause) {
    throw new RangeError("the compressed bytes are damaged", { cause });
  }
  if (content.length !== size) throw new RangeError(`${content.length} bytes where ${size} were written`);
  return content;
}
