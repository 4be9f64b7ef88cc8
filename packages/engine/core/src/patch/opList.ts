import { INSERT } from "./patch.ts";

/** A growing list of operations; neighbours that continue each other become one. */
export class OpList {
  #pairs = new Int32Array(16);
  #size = 0;

  /** Adds a copy of `length` bytes from `offset` of the base; nothing if `length` is 0. */
  copy(offset: number, length: number): void {
    if (length === 0) return;
    const last = this.#size - 2;
    if (last >= 0) {
      const source = this.#pairs[last]!;
      const lastLength = this.#pairs[last + 1]!;
      if (source !== INSERT && source + lastLength === offset) {
        this.#pairs[last + 1] = lastLength + length;
        return;
      }
    }
    this.#push(offset, length);
  }

  /** Adds an insert of the next `length` literal bytes; nothing if `length` is 0. */
  insert(length: number): void {
    if (length === 0) return;
    const last = this.#size - 2;
    if (last >= 0 && this.#pairs[last] === INSERT) this.#pairs[last + 1]! += length;
    else this.#push(INSERT, length);
  }

  /** The pairs as a `Patch` keeps them. */
  finish(): Int32Array {
    return this.#pairs.slice(0, this.#size);
  }

  #push(source: number, length: number): void {
    if (this.#size === this.#pairs.length) {
      const grown = new Int32Array(this.#pairs.length * 2);
      grown.set(this.#pairs);
      this.#pairs = grown;
    }
    this.#pairs[this.#size] = source;
    this.#pairs[this.#size + 1] = length;
    this.#size += 2;
  }
}
