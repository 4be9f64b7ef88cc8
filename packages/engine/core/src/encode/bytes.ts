const utf8Encoder = new TextEncoder();
const utf8Decoder = new TextDecoder("utf-8", { fatal: true });

/** UTF-8 bytes of a string. */
export function utf8(text: string): Uint8Array {
  return utf8Encoder.encode(text);
}

/** A string of UTF-8 bytes. @throws TypeError on bytes that aren't UTF-8 */
export function text(bytes: Uint8Array): string {
  return utf8Decoder.decode(bytes);
}

/** Joins byte arrays. */
export function concat(parts: readonly Uint8Array[]): Uint8Array {
  let length = 0;
  for (const part of parts) length += part.length;
  const joined = new Uint8Array(length);
  let at = 0;
  for (const part of parts) {
    joined.set(part, at);
    at += part.length;
  }
  return joined;
}

/** Bytes that {@link writeVarint} writes at most. */
export const MAX_VARINT_BYTES = 8;

/**
 * Writes a non-negative integer below 2^53 as a LEB128 varint, which has 7 bits in each byte, the low ones first.
 * Returns the offset after it.
 */
export function writeVarint(bytes: Uint8Array, at: number, value: number): number {
  while (value >= 0x80) {
    bytes[at++] = (value % 0x80) | 0x80;
    value = Math.floor(value / 0x80);
  }
  bytes[at++] = value;
  return at;
}

/** A non-negative integer below 2^53 as a LEB128 varint. */
export function varint(value: number): Uint8Array {
  const bytes = new Uint8Array(MAX_VARINT_BYTES);
  return bytes.slice(0, writeVarint(bytes, 0, value));
}

/** Reads varints and slices from front to back, and refuses to run past the end. */
export class ByteReader {
  readonly #bytes: Uint8Array;
  #at = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  /** Bytes not read yet. */
  get left(): number {
    return this.#bytes.length - this.#at;
  }

  /** @throws RangeError at the end of the bytes, or on a number that {@link writeVarint} doesn't write */
  varint(): number {
    let value = 0;
    let scale = 1;
    for (let i = 0; i < MAX_VARINT_BYTES; i += 1) {
      const byte = this.#bytes[this.#at];
      if (byte === undefined) throw new RangeError("bytes end inside a number");
      this.#at += 1;
      value += (byte & 0x7f) * scale;
      if (byte < 0x80) {
        if (byte === 0 && i > 0) throw new RangeError("number not in its shortest form");
        if (!Number.isSafeInteger(value)) break;
        return value;
      }
      scale *= 0x80;
    }
    throw new RangeError("number too large");
  }

  /** @throws RangeError if fewer than `length` bytes are left */
  take(length: number): Uint8Array {
    if (length > this.left) throw new RangeError("bytes end early");
    const slice = this.#bytes.subarray(this.#at, this.#at + length);
    this.#at += length;
    return slice;
  }

  rest(): Uint8Array {
    return this.take(this.left);
  }
}
