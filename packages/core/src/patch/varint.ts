import { PatchError } from "./patchError.ts";

/** Bytes that {@link writeVarint} writes at most: 7 bits each, for integers up to 2^42. */
export const MAX_VARINT_BYTES = 6;

/** Writes an unsigned integer (LEB128: 7 bits per byte, low ones first); returns the offset after it. */
export function writeVarint(bytes: Uint8Array, at: number, value: number): number {
  while (value >= 0x80) {
    bytes[at++] = (value % 0x80) | 0x80;
    value = Math.floor(value / 0x80);
  }
  bytes[at++] = value;
  return at;
}

/** Reads unsigned integers, refusing everything that {@link writeVarint} does not write. */
export class VarintReader {
  readonly #bytes: Uint8Array;
  #at = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  /** Bytes not read yet. */
  get left(): number {
    return this.#bytes.length - this.#at;
  }

  /**
   * @param what names the number in the error
   * @throws PatchError if the bytes end within the number, or it is not in its shortest form
   */
  next(what: string): number {
    let value = 0;
    let scale = 1;
    for (let i = 0; i < MAX_VARINT_BYTES; i++) {
      const byte = this.#bytes[this.#at++];
      if (byte === undefined) throw new PatchError(`patch ends within its ${what}`);
      value += (byte & 0x7f) * scale;
      if (byte < 0x80) {
        if (byte === 0 && i > 0) throw new PatchError(`patch has an overlong number as its ${what}`);
        return value;
      }
      scale *= 0x80;
    }
    throw new PatchError(`patch has a number that is too large as its ${what}`);
  }
}
