import type { NativeZlib } from "./nativeZlib.ts";

/**
 * Whether the zlib of this Node uses the `dictionary` option. Versions before 22.19 and 24.6 silently ignore it, so this compresses
 * with a dictionary and checks that the bytes can't be decompressed without it.
 */
export function honoursDictionary(zlib: NativeZlib): boolean {
  const content = Uint8Array.from({ length: 256 }, (_, i) => (i * i * 31 + i * 7) & 0xff);
  const options = { dictionary: content, chunkSize: 1024 };
  const frame = zlib.zstdCompressSync(content, options);
  if (!same(zlib.zstdDecompressSync(frame, options), content)) return false;
  try {
    return !same(zlib.zstdDecompressSync(frame, { chunkSize: 1024 }), content);
  } catch {
    return true;
  }
}

function same(a: Uint8Array, b: Uint8Array): boolean {
  return Buffer.compare(a, b) === 0;
}
