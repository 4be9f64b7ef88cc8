import type { NativeZstd } from "./nativeZstd.ts";
import type { WasmZstd } from "./wasmZstd.ts";
import type { DecompressOptions, Zstd } from "./zstd.ts";

/**
 * For content of fewer bytes than this, WASM is faster, up to several times, because zlib sets up a context per call. Measured on
 * Node 22 and 24.
 */
const NATIVE_CONTENT = 32 * 1024;
/** For fewer compressed bytes than this, WASM is faster. */
const NATIVE_ENCODED = 4 * 1024;

/** Passes each call to the implementation that is faster for it, but to WASM if zlib would ignore the dictionary. */
export class MixedZstd implements Zstd {
  readonly name = "native";
  readonly #native: NativeZstd;
  readonly #wasm: WasmZstd;
  readonly #nativeDictionary: boolean;

  /** @param nativeDictionary whether zlib honours dictionaries */
  constructor(native: NativeZstd, wasm: WasmZstd, nativeDictionary: boolean) {
    this.#native = native;
    this.#wasm = wasm;
    this.#nativeDictionary = nativeDictionary;
  }

  compress(bytes: Uint8Array, level: number, dictionary?: Uint8Array): Uint8Array {
    return this.#pick(bytes.length >= NATIVE_CONTENT, dictionary).compress(bytes, level, dictionary);
  }

  decompress(bytes: Uint8Array, options: DecompressOptions): Uint8Array {
    return this.#pick(bytes.length >= NATIVE_ENCODED, options.dictionary).decompress(bytes, options);
  }

  #pick(large: boolean, dictionary: Uint8Array | undefined): Zstd {
    return large && (dictionary === undefined || this.#nativeDictionary) ? this.#native : this.#wasm;
  }
}
