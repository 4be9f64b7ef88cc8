import { CodecError } from "./codecError.ts";
import { MAX_DICTIONARY, MAX_LEVEL, MIN_LEVEL } from "./zstd.ts";

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
 * left out where the content happens to begin like a trained dictionary. Part of the stored format.
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
