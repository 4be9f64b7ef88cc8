import { copyBytes } from "./apply.ts";
import { OpIndex } from "./opIndex.ts";
import { INSERT, type Patch } from "./patch.ts";

/** Traces every byte at the end of a chain back to the base or the literal it came from. */
export class ChainTracer {
  readonly #base: Uint8Array;
  readonly #patches: readonly Patch[];
  readonly #result: Uint8Array;
  readonly #indexes: OpIndex[];
  /** For each patch, how many bytes at the beginning it leaves in place. Tracing a piece there skips the patch. */
  readonly #kept: Int32Array;
  #piecesLeft: number;

  constructor(base: Uint8Array, patches: readonly Patch[], mostPieces: number) {
    this.#base = base;
    this.#patches = patches;
    this.#result = new Uint8Array(patches.at(-1)!.length);
    this.#indexes = patches.map((patch) => new OpIndex(patch));
    this.#kept = Int32Array.from(patches, ({ ops }) => (ops[0] === 0 ? ops[1]! : 0));
    this.#piecesLeft = mostPieces;
  }

  /** The result, or undefined if it takes more pieces than allowed. */
  run(): Uint8Array | undefined {
    this.#fill(this.#patches.length - 1, 0, 0, this.#result.length);
    return this.#piecesLeft < 0 ? undefined : this.#result;
  }

  /** Fills the result, from `resultAt` on, with the `length` bytes at `at` in the result of patch number `level`. */
  #fill(level: number, resultAt: number, at: number, length: number): void {
    const end = at + length;
    const kept = this.#kept;
    while (level >= 0 && end <= kept[level]!) level--;
    if (level < 0) {
      copyBytes(this.#base, at, this.#result, resultAt, length);
      return;
    }
    const { ops, literals } = this.#patches[level]!;
    const index = this.#indexes[level]!;
    const { starts, literalAt } = index;
    for (let op = index.find(at); at < end; op++) {
      if (--this.#piecesLeft < 0) return;
      const skipped = at - starts[op]!;
      const part = Math.min(starts[op + 1]!, end) - at;
      const source = ops[2 * op]!;
      if (source === INSERT) copyBytes(literals, literalAt[op]! + skipped, this.#result, resultAt, part);
      else this.#fill(level - 1, resultAt, source + skipped, part);
      resultAt += part;
      at += part;
    }
  }
}
