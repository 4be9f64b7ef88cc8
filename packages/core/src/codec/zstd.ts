/** Options of {@link Zstd.decompress}. */
export interface DecompressOptions {
  /** Most bytes the result may have; more is a CodecError `too-large` before anything is allocated. */
  readonly maxSize: number;
  /** The bytes that `compress` was given as dictionary. */
  readonly dictionary?: Uint8Array;
}

/**
 * Zstandard in standard frames (content size in every header, no checksum), each implementation reading what
 * the other wrote. More than {@link MAX_FRAME_CONTENT} bytes become several frames, one after the other.
 */
export interface Zstd {
  readonly name: "wasm" | "native";
  /**
   * @param level 1 to 9; higher levels do not fit the WASM heap
   * @param dictionary raw content shared with the decoder, at most {@link MAX_DICTIONARY} bytes
   * @throws CodecError `bad-argument`, or `unavailable` after a failure of the WASM heap
   */
  compress(bytes: Uint8Array, level: number, dictionary?: Uint8Array): Uint8Array;
  /** @throws CodecError `corrupt`, `unsupported`, `too-large`, `bad-argument`, `unavailable` */
  decompress(bytes: Uint8Array, options: DecompressOptions): Uint8Array;
}

/** Content bytes of one frame: zstd-codec has a fixed heap of 16 MiB. Part of the stored format. */
export const MAX_FRAME_CONTENT = 1 << 20;

/** Encoded bytes of one frame: what zstd needs at worst for {@link MAX_FRAME_CONTENT}, with some slack. */
export const MAX_FRAME_ENCODED = MAX_FRAME_CONTENT + (MAX_FRAME_CONTENT >> 8) + 1024;

/** Bytes of a dictionary; the tables that zstd-codec builds for a larger one do not fit its heap. */
export const MAX_DICTIONARY = 128 * 1024;

/** The window a frame may ask a decoder to hold. Ours need 2 MiB at most; RFC 8878 recommends 8 MiB. */
export const MAX_WINDOW = 8 * 1024 * 1024;

/** Level without a dictionary: what zstd itself takes by default. */
export const DEFAULT_LEVEL = 3;

/**
 * Level with a shipped dictionary, which is kept prepared for this one. Level 5 makes the literals of recorded conversations
 * 5 % smaller than level 3 does. Level 6 gains less than 1 % more, and takes half as long again where they are longer than
 * 600 bytes.
 */
export const DICTIONARY_LEVEL = 5;

export const MIN_LEVEL = 1;
/** Level 10 and up abort zstd-codec's heap on a full frame. */
export const MAX_LEVEL = 9;
