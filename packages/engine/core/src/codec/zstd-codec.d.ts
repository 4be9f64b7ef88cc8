/**
 * The part of zstd-codec 0.1.5 (which ships no types) that is used here: emscripten's binding, below its own wrappers. Numbers
 * below 0 are failures; a heap that is full aborts with an exception.
 */
declare module "zstd-codec/lib/module.js" {
  export interface Handle {
    delete(): void;
  }

  /** A C++ `std::vector<uint8_t>`: three pointers, to its first byte, past its last one, and past its room. */
  export interface Vector extends Handle {
    resize(length: number, fill: number): void;
    /** Where the vector is in the heap. */
    readonly $$: { readonly ptr: number };
  }

  export interface RawCodec {
    compressBound(length: number): number;
    /** The length of what was written to `into`, which must have enough room. */
    compress(into: Vector, from: Vector, level: number): number;
    compressUsingDict(into: Vector, from: Vector, dictionary: Handle): number;
    decompress(into: Vector, from: Vector): number;
    decompressUsingDict(into: Vector, from: Vector, dictionary: Handle): number;
  }

  export interface ZstdBinding {
    /** The heap, of a fixed size. */
    readonly HEAPU8: Uint8Array;
    readonly HEAPU32: Uint32Array;
    readonly VectorU8: new () => Vector;
    readonly ZstdCodec: new () => RawCodec;
    createCompressionDict(content: Uint8Array, level: number): Handle;
    createDecompressionDict(content: Uint8Array): Handle;
  }

  /** Starts a fresh WASM instance with a heap of its own and calls back once, asynchronously. */
  export function run(callback: (binding: ZstdBinding) => void): void;
}
