import { CodecError } from "./codecError.ts";
import type { NativeZlib } from "./nativeZlib.ts";
import { checkLevel, type DecompressOptions, MAX_FRAME_ENCODED, rawDictionary, type Zstd } from "./zstd.ts";
import { compressPieces, decompressPieces } from "./zstdFrames.ts";

/** Zstandard by node:zlib. Pass dictionaries only if {@link honoursDictionary} holds. It keeps no state between calls. */
export class NativeZstd implements Zstd {
  readonly name = "native";
  readonly #zlib: NativeZlib;

  constructor(zlib: NativeZlib) {
    this.#zlib = zlib;
  }

  compress(bytes: Uint8Array, level: number, dictionary?: Uint8Array): Uint8Array {
    checkLevel(level);
    const raw = rawDictionary(dictionary);
    const { constants } = this.#zlib;
    const params = {
      [constants.ZSTD_c_compressionLevel]: level,
      [constants.ZSTD_c_contentSizeFlag]: 1,
      [constants.ZSTD_c_checksumFlag]: 0,
    };
    return compressPieces(bytes, (content) =>
      plain(
        this.#zlib.zstdCompressSync(content, {
          params,
          pledgedSrcSize: content.length,
          chunkSize: Math.min(content.length + (content.length >> 8) + 128, MAX_FRAME_ENCODED),
          ...(raw === undefined ? {} : { dictionary: raw }),
        }),
      ),
    );
  }

  decompress(bytes: Uint8Array, options: DecompressOptions): Uint8Array {
    const raw = rawDictionary(options.dictionary);
    return decompressPieces(bytes, options.maxSize, (frame, contentSize) => {
      try {
        return plain(
          this.#zlib.zstdDecompressSync(frame, {
            chunkSize: Math.max(contentSize, 64), // the least that zlib accepts
            maxOutputLength: contentSize,
            ...(raw === undefined ? {} : { dictionary: raw }),
          }),
        );
      } catch (cause) {
        throw new CodecError("corrupt", "A frame cannot be decoded, or needs another dictionary.", { cause });
      }
    });
  }
}

/** A Uint8Array instead of a Buffer, copied if it would keep a much larger allocation alive. */
function plain(bytes: Uint8Array): Uint8Array {
  if (bytes.buffer.byteLength > bytes.length * 2) return Uint8Array.from(bytes);
  return new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.length);
}
