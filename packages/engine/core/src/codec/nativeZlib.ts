import zlib from "node:zlib";

interface NativeOptions {
  readonly dictionary?: Uint8Array;
  readonly chunkSize: number;
  readonly maxOutputLength?: number;
  readonly pledgedSrcSize?: number;
  readonly params?: Readonly<Record<number, number>>;
}

/** The zstd part of node:zlib, from Node 22.15 on. */
export interface NativeZlib {
  zstdCompressSync(bytes: Uint8Array, options: NativeOptions): Uint8Array;
  zstdDecompressSync(bytes: Uint8Array, options: NativeOptions): Uint8Array;
  readonly constants: {
    readonly ZSTD_c_compressionLevel: number;
    readonly ZSTD_c_contentSizeFlag: number;
    readonly ZSTD_c_checksumFlag: number;
  };
}

/** node:zlib, if it has zstd. Looks the functions up by name, so that Node 20 can load this file. */
export function nativeZlib(): NativeZlib | undefined {
  const found: Partial<NativeZlib> = zlib as unknown as Partial<NativeZlib>;
  const { zstdCompressSync, zstdDecompressSync, constants } = found;
  if (!zstdCompressSync || !zstdDecompressSync || constants?.ZSTD_c_contentSizeFlag === undefined)
    return undefined;
  return { zstdCompressSync, zstdDecompressSync, constants };
}
