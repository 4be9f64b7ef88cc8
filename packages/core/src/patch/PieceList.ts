/** Parts of a result that are still to be filled: triples of result offset, source offset and length. */
export class PieceList {
  #triples = new Int32Array(48);
  #size = 0;

  get count(): number {
    return this.#size / 3;
  }

  /** The triples; only the first `3 * count` numbers mean anything. */
  get triples(): Int32Array {
    return this.#triples;
  }

  clear(): void {
    this.#size = 0;
  }

  /** Adds a part; one that continues the last part in result and source makes that longer instead. */
  add(resultAt: number, sourceAt: number, length: number): void {
    const triples = this.#triples;
    const last = this.#size - 3;
    if (last >= 0) {
      const lastLength = triples[last + 2]!;
      if (triples[last]! + lastLength === resultAt && triples[last + 1]! + lastLength === sourceAt) {
        triples[last + 2] = lastLength + length;
        return;
      }
    }
    if (this.#size === triples.length) {
      this.#triples = new Int32Array(triples.length * 2);
      this.#triples.set(triples);
    }
    this.#triples[this.#size] = resultAt;
    this.#triples[this.#size + 1] = sourceAt;
    this.#triples[this.#size + 2] = length;
    this.#size += 3;
  }
}
