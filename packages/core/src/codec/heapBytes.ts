import type { Vector, ZstdBinding } from "zstd-codec/lib/module.js";

/** Room that a vector keeps between calls, in bytes; one that had to be larger is made anew. */
const mostKept = 64 * 1024;

/**
 * Bytes in the heap of zstd-codec, to be written and read from outside, in a vector that is kept from call to call. With vectors
 * of each call's own, and copies made by zstd-codec itself, half the time of compressing a step's bytes was the making of objects.
 */
export class HeapBytes {
  readonly #binding: ZstdBinding;
  #vector: Vector;

  /** @throws Error where vectors aren't laid out as they are in zstd-codec 0.1.5 */
  constructor(binding: ZstdBinding) {
    this.#binding = binding;
    this.#vector = new binding.VectorU8();
    this.#vector.resize(3, 7);
    const end = binding.HEAPU32[(this.#vector.$$.ptr >> 2) + 1]!;
    if (end - this.#begin !== 3 || this.read(3).some((byte) => byte !== 7))
      throw new Error("the vectors of this zstd-codec are laid out in another way");
  }

  /** For calls of the binding. */
  get vector(): Vector {
    return this.#vector;
  }

  write(bytes: Uint8Array): void {
    this.#vector.resize(bytes.length, 0);
    this.#binding.HEAPU8.set(bytes, this.#begin);
  }

  /** Makes room for so many bytes. */
  reserve(length: number): void {
    this.#vector.resize(length, 0);
  }

  /** A copy of the first bytes. */
  read(length: number): Uint8Array {
    return this.#binding.HEAPU8.slice(this.#begin, this.#begin + length);
  }

  /** After a call: gives back what is more than the next one is likely to need. @param length that was used */
  release(length: number): void {
    if (length <= mostKept) return;
    this.#vector.delete();
    this.#vector = new this.#binding.VectorU8();
  }

  get #begin(): number {
    return this.#binding.HEAPU32[this.#vector.$$.ptr >> 2]!;
  }
}
