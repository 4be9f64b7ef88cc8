import type { NativeZlib } from "./nativeZlib.ts";

/**
 * Whether this Node's zlib really uses the `dictionary` option. Versions before 22.19 and 24.6 ignore it without
 * a word, so this compresses with one and looks whether the bytes can be read without it.
 */
export function honoursDictionary(zlib: NativeZlib): boolean {
  const content = Uint8Array.from({ length: 256 }, (_, i) => (i * i * 31 + i * 7) & 0xff);
  const options = { dictionary: content, chunkSize: 1024 };
  const frame = zlib.zstdCompressSync(content, options);
  if (!same(zlib.zstdDecompressSync(frame, options), content)) return false;
  try {
    return !same(zlib.zstdDecompressSync(frame, { chunkSize: 1024 }), content);
  } catch {
    return true; // it needs the dictionary that it was given
  }
}

function same(a: Uint8Array, b: Uint8Array): boolean {
  return Buffer.compare(a, b) === 0;
}
