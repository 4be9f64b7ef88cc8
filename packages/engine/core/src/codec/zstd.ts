import { CodecError } from "./codecError.ts";

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
 * 5 % smaller than level 3 does. Level 6 gains less than 1 % more, and takes half as long again for literals of more than
 * 600 bytes.
 */
export const DICTIONARY_LEVEL = 5;

export const MIN_LEVEL = 1;
/** From level 10 on, a full frame overflows zstd-codec's heap. */
export const MAX_LEVEL = 9;

/** The first bytes of a trained dictionary, which zstd would parse instead of using it as content. */
const TRAINED_MAGIC = [0x37, 0xa4, 0x30, 0xec] as const;
/** zstd ignores shorter dictionaries. */
const MIN_DICTIONARY = 8;

/** @throws CodecError `bad-argument` */
export function checkLevel(level: number): void {
  if (Number.isInteger(level) && level >= MIN_LEVEL && level <= MAX_LEVEL) return;
  throw new CodecError(
    "bad-argument",
    `level is ${level}; use a whole number from ${MIN_LEVEL} to ${MAX_LEVEL}.`,
  );
}

/**
 * The part of a dictionary that both implementations use as raw content. A very short one isn't used at all, and the first byte is
 * left out if the content happens to begin like a trained dictionary. Part of the stored format.
 *
 * @throws CodecError `bad-argument`
 */
export function rawDictionary(dictionary: Uint8Array | undefined): Uint8Array | undefined {
  if (dictionary === undefined) return undefined;
  if (dictionary.length > MAX_DICTIONARY) {
    const found = `dictionary has ${dictionary.length} bytes`;
    throw new CodecError("bad-argument", `${found}; pass at most ${MAX_DICTIONARY}.`);
  }
  const raw = TRAINED_MAGIC.every((byte, i) => dictionary[i] === byte) ? dictionary.subarray(1) : dictionary;
  return raw.length < MIN_DICTIONARY ? undefined : raw;
}
