/** The part of zstd-codec 0.1.5 (which ships no types) that is used here. Failures come back as null. */
declare module "zstd-codec" {
  export interface Disposable {
    close(): void;
  }

  export interface Simple {
    compress(content: Uint8Array, level: number): Uint8Array | null;
    decompress(frame: Uint8Array): Uint8Array | null;
    compressUsingDict(content: Uint8Array, dictionary: Disposable): Uint8Array | null;
    decompressUsingDict(frame: Uint8Array, dictionary: Disposable): Uint8Array | null;
  }

  export interface ZstdModule {
    readonly Simple: new () => Simple;
    readonly Dict: {
      readonly Compression: new (content: Uint8Array, level: number) => Disposable;
      readonly Decompression: new (content: Uint8Array) => Disposable;
    };
  }

  export const ZstdCodec: {
    /** Starts a fresh WASM instance with a heap of its own and calls back once, asynchronously. */
    run(callback: (zstd: ZstdModule) => void): void;
  };
}
