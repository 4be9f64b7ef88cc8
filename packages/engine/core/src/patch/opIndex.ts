import { INSERT, type Patch } from "./patch.ts";

/** Finds the operation of a patch that yields a given byte of its result. */
export class OpIndex {
  /** Result offset at which each operation starts, and the result's length at the end. */
  readonly starts: Int32Array;
  /** For each insert, where its bytes are in the literals. */
  readonly literalAt: Int32Array;
  #hint = 0;

  constructor(patch: Patch) {
    const count = patch.ops.length / 2;
    this.starts = new Int32Array(count + 1);
    this.literalAt = new Int32Array(count);
    let at = 0;
    let literal = 0;
    for (let i = 0; i < count; i++) {
      const length = patch.ops[2 * i + 1]!;
      this.starts[i] = at;
      this.literalAt[i] = literal;
      if (patch.ops[2 * i] === INSERT) literal += length;
      at += length;
    }
    this.starts[count] = at;
  }

  /** Index of the operation whose bytes contain result offset `at`, which must be within the result. */
  find(at: number): number {
    const { starts } = this;
    // Ranges are mostly asked for in ascending order: the same operation or the next one.
    const hint = this.#hint;
    if (at >= starts[hint]!) {
      if (at < starts[hint + 1]!) return hint;
      if (at < starts[hint + 2]!) return (this.#hint = hint + 1);
    }
    let low = 0;
    let high = starts.length - 2;
    while (low < high) {
      const middle = (low + high + 1) >>> 1;
      if (starts[middle]! <= at) low = middle;
      else high = middle - 1;
    }
    return (this.#hint = low);
  }
}
