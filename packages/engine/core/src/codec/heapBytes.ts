import type { Vector, ZstdBinding } from "zstd-codec/lib/module.js";

/** How many bytes of heap a vector keeps between calls. One that had to be larger is replaced by a new one. */
const mostKept = 64 * 1024;

/**
 * A vector in the heap of zstd-codec that is reused from call to call, and whose bytes are read and written directly. With a
 * vector for each call, and zstd-codec's own copying, creating objects took half the time of compressing the bytes of a step.
 */
export class HeapBytes {
  readonly #binding: ZstdBinding;
  #vector: Vector;

  /** @throws Error if vectors aren't laid out as they are in zstd-codec 0.1.5 */
  constructor(binding: ZstdBinding) {
    this.#binding = binding;
    this.#vector = new binding.VectorU8();
    this.#vector.resize(3, 7);
    const end = binding.HEAPU32[(this.#vector.$$.ptr >> 2) + 1]!;
    if (end - this.#begin !== 3 || this.read(3).some((byte) => byte !== 7))
      throw new Error("the vectors of this zstd-codec are laid out in another way");
  }

  /** The vector, to pass to the binding. */
  get vector(): Vector {
    return this.#vector;
  }

  write(bytes: Uint8Array): void {
    this.#vector.resize(bytes.length, 0);
    this.#binding.HEAPU8.set(bytes, this.#begin);
  }

  /** Makes room for `length` bytes. */
  reserve(length: number): void {
    this.#vector.resize(length, 0);
  }

  /** A copy of the first `length` bytes. */
  read(length: number): Uint8Array {
    return this.#binding.HEAPU8.slice(this.#begin, this.#begin + length);
  }

  /** Frees the memory after a call that needed `length` bytes, if the next one is likely to need less. */
  release(length: number): void {
    if (length <= mostKept) return;
    this.#vector.delete();
    this.#vector = new this.#binding.VectorU8();
  }

  get #begin(): number {
    return this.#binding.HEAPU32[this.#vector.$$.ptr >> 2]!;
  }
}
