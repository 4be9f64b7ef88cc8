/** Options of {@link Zstd.decompress}. */
export interface DecompressOptions {
  /** The most bytes that the result may have. More is a CodecError `too-large` before anything is allocated. */
  readonly maxSize: number;
  /** The dictionary that `compress` was given. */
  readonly dictionary?: Uint8Array;
}

/**
 * Zstandard in standard frames, with the content size in every header and no checksum. Each implementation reads what the other
 * wrote. More than {@link MAX_FRAME_CONTENT} bytes become several frames, one after the other.
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

/** The most content bytes of one frame, as zstd-codec has a fixed heap of 16 MiB. Part of the stored format. */
export const MAX_FRAME_CONTENT = 1 << 20;

/** The most encoded bytes of one frame: the worst case of {@link MAX_FRAME_CONTENT}, with some slack. */
export const MAX_FRAME_ENCODED = MAX_FRAME_CONTENT + (MAX_FRAME_CONTENT >> 8) + 1024;

/** The most bytes of a dictionary. The tables that zstd-codec builds for a larger one don't fit its heap. */
export const MAX_DICTIONARY = 128 * 1024;

/** The largest window, in bytes, that a frame may ask a decoder to hold. Ours need 2 MiB at most; RFC 8878 recommends 8 MiB. */
export const MAX_WINDOW = 8 * 1024 * 1024;

/** The level without a dictionary: zstd's own default. */
export const DEFAULT_LEVEL = 3;

/**
 * The level with a shipped dictionary, which is kept prepared for this level. Level 5 makes the literals of recorded conversations
 * 5 % smaller than level 3 does. Level 6 gains less than 1 % more, and takes half as long again where they are longer than
 * 600 bytes.
 */
export const DICTIONARY_LEVEL = 5;

export const MIN_LEVEL = 1;
/** From level 10 on, a full frame overflows zstd-codec's heap. */
export const MAX_LEVEL = 9;
