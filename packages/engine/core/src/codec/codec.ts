import { CodecError } from "./codecError.ts";
import { deflate, inflate, maxDeflated } from "./deflate.ts";
import { CURRENT_DICTIONARY, shippedDictionary } from "./dictionaries.ts";
import { loadZstd, runningZstd, startZstd } from "./loadZstd.ts";
import { DEFAULT_LEVEL, DICTIONARY_LEVEL, type Zstd } from "./zstd.ts";

/** First byte of packed bytes. Part of the stored format; 0x40 and up belong to the cipher. */
export const codecTags = { stored: 0, zstd: 1, zstdWithDictionary: 2, deflatedWithDictionary: 3 } as const;

/** Content shorter than this many bytes never gains 10 %, because a frame adds at least 8 bytes. */
const MIN_COMPRESSED = 24;
/** For content longer than this many bytes a dictionary saves less than 3 %, and takes long. */
const MAX_WITH_DICTIONARY = 32 * 1024;
/** Content is stored uncompressed unless compression brings it down to this share of its size. */
const WORTHWHILE = 0.9;
/** After this many bytes the WASM is started in the background. A process that ends sooner is spared the start. */
const COLD_BYTES = 64 * 1024;

export interface PackOptions {
  /** Use the shipped dictionary for content up to 32 kB. Default true. */
  readonly dictionary?: boolean;
  /** zstd level, 1 to 9. Default 5 with the dictionary, 3 without. */
  readonly level?: number;
}

/** Packs bytes and unpacks them. The first byte of packed bytes says how they were packed. */
export interface Codec {
  /** Compresses if that saves at least 10 %. The result never shares memory with `raw`. */
  pack(raw: Uint8Array, options?: PackOptions): Uint8Array;
  /**
   * The content of packed bytes. It may share memory with them if they are uncompressed.
   *
   * @param maxSize the most bytes that the content may have; more is an error before anything is allocated
   * @throws CodecError `corrupt`, `too-large`, `unsupported`, `unknown-tag`, `unknown-dictionary`
   */
  unpack(packed: Uint8Array, maxSize: number): Uint8Array;
}

let kept: { readonly zstd: Zstd; readonly codec: Codec } | undefined;

function codecOf(zstd: Zstd): Codec {
  if (kept?.zstd !== zstd) kept = { zstd, codec: createCodec(zstd) };
  return kept.codec;
}

/** The codec that uses the Zstandard of this process. The first call starts it. */
export async function loadCodec(): Promise<Codec> {
  return codecOf(await loadZstd());
}

/** {@link Codec.pack} of the codec of this process, which the first call starts. */
export async function pack(raw: Uint8Array, options?: PackOptions): Promise<Uint8Array> {
  return (await loadCodec()).pack(raw, options);
}

/** {@link Codec.unpack} of the codec of this process, which the first call starts. */
export async function unpack(packed: Uint8Array, maxSize: number): Promise<Uint8Array> {
  return (await loadCodec()).unpack(packed, maxSize);
}

/**
 * As {@link pack}, without a promise: a put packs several times, so the promises would take noticeable time. Undefined if the
 * caller has to wait for Zstandard.
 */
export function packNow(raw: Uint8Array, options: PackOptions = {}): Uint8Array | undefined {
  const codec = runningCodec(raw.length);
  if (codec !== undefined) return codec.pack(raw, options);
  if (raw.length < MIN_COMPRESSED) return prefixed([codecTags.stored], raw);
  if (raw.length > maxDeflated || options.dictionary === false || options.level !== undefined)
    return undefined;
  const deflated = deflate(raw, shippedDictionary(CURRENT_DICTIONARY));
  return ifShorter(raw, [codecTags.deflatedWithDictionary, CURRENT_DICTIONARY], deflated);
}

/** As {@link unpack}, without a promise; undefined if the caller has to wait for Zstandard. */
export function unpackNow(packed: Uint8Array, maxSize: number): Uint8Array | undefined {
  if (packed[0] === codecTags.stored) return unpackStored(packed, maxSize);
  if (packed[0] === codecTags.deflatedWithDictionary) return unpackDeflated(packed, maxSize);
  return runningCodec(packed.length)?.unpack(packed, maxSize);
}

/** How many bytes were to be packed or unpacked while the WASM wasn't running. */
let cold = 0;

/** The codec, if it runs. Otherwise counts `length` more bytes, and starts it after `COLD_BYTES`: a process that goes on needs it. */
function runningCodec(length: number): Codec | undefined {
  const zstd = runningZstd();
  if (zstd !== undefined) return codecOf(zstd);
  cold += length;
  if (cold > COLD_BYTES) startZstd();
  return undefined;
}

/** A codec that uses the given Zstandard. */
export function createCodec(zstd: Zstd): Codec {
  return {
    pack: (raw, options = {}) => packWith(zstd, raw, options),
    unpack: (packed, maxSize) => unpackWith(zstd, packed, maxSize),
  };
}

function packWith(zstd: Zstd, raw: Uint8Array, options: PackOptions): Uint8Array {
  if (raw.length < MIN_COMPRESSED) return prefixed([codecTags.stored], raw);
  const useDictionary = options.dictionary !== false && raw.length <= MAX_WITH_DICTIONARY;
  const dictionary = useDictionary ? shippedDictionary(CURRENT_DICTIONARY) : undefined;
  const level = options.level ?? (useDictionary ? DICTIONARY_LEVEL : DEFAULT_LEVEL);
  const frame = zstd.compress(raw, level, dictionary);
  return ifShorter(
    raw,
    useDictionary ? [codecTags.zstdWithDictionary, CURRENT_DICTIONARY] : [codecTags.zstd],
    frame,
  );
}

/** The compressed bytes, if they are few enough; otherwise the content uncompressed. */
function ifShorter(raw: Uint8Array, head: readonly number[], compressed: Uint8Array): Uint8Array {
  return head.length + compressed.length > raw.length * WORTHWHILE
    ? prefixed([codecTags.stored], raw)
    : prefixed(head, compressed);
}

function unpackWith(zstd: Zstd, packed: Uint8Array, maxSize: number): Uint8Array {
  const tag = packed[0];
  switch (tag) {
    case codecTags.stored:
      return unpackStored(packed, maxSize);
    case codecTags.zstd:
      return zstd.decompress(packed.subarray(1), { maxSize });
    case codecTags.zstdWithDictionary:
      return zstd.decompress(packed.subarray(2), { maxSize, dictionary: dictionaryOf(packed) });
    case codecTags.deflatedWithDictionary:
      return unpackDeflated(packed, maxSize);
    case undefined:
      throw new CodecError("corrupt", "There are no packed bytes.");
    default:
      throw new CodecError(
        "unknown-tag",
        `Codec tag ${tag} is not known; a newer version wrote it, or it was damaged.`,
      );
  }
}

function unpackDeflated(packed: Uint8Array, maxSize: number): Uint8Array {
  return inflate(packed.subarray(2), dictionaryOf(packed), maxSize);
}

function dictionaryOf(packed: Uint8Array): Uint8Array {
  const id = packed[1];
  if (id === undefined) throw new CodecError("corrupt", "The packed bytes end before the dictionary id.");
  return shippedDictionary(id);
}

function unpackStored(packed: Uint8Array, maxSize: number): Uint8Array {
  if (packed.length - 1 <= maxSize) return packed.subarray(1);
  throw new CodecError(
    "too-large",
    `The content has ${packed.length - 1} bytes; at most ${maxSize} are allowed.`,
  );
}

function prefixed(head: readonly number[], bytes: Uint8Array): Uint8Array {
  const joined = new Uint8Array(head.length + bytes.length);
  joined.set(head);
  joined.set(bytes, head.length);
  return joined;
}
