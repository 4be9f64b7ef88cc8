/** What is known about a chain when a patch is about to be added to it; all sizes in stored bytes. */
export interface ChainState {
  /** Patches on the chain already: 0 when the base of the patch is where the chain begins. */
  readonly depth: number;
  /** Size of the new value stored whole; an estimate will do. */
  readonly wholeBytes: number;
  /** Size of the new value stored as a patch. */
  readonly patchBytes: number;
  /** Size of all patches on the chain already. */
  readonly chainBytes: number;
}

/**
 * A link costs its reader a row, and 20 to 35 µs: 11 to 19 µs to decompress 0.7 to 3 kB of literals with zstd-codec,
 * 6 to 15 µs to decode and to trace. 128 of them are 2.3 ms (437 kB) to 4 ms (2.4 MB), less than the JSON.parse that
 * follows; 170 are 1.3 times that, 256 twice, and tracing grows to 5 ms. Bytes per turn of the 500-turn state if every cut
 * stores the value whole: 7.1 kB at 64, 4.1 kB at 128, 3.4 kB at 170, 2.7 kB at 256. If a cut stores a patch on the blob where
 * the chain began, as long as this predicate allows that too: 3.3, 3.0, 2.9, 2.7 kB, and no growth with the length of the
 * history (docs/decisions/0002-two-level-chains.md).
 */
export const MAX_CHAIN_DEPTH = 170;

/**
 * Patches may add up to this many wholes. A history whose patches are a share x of the whole then costs x (1 + 1/2)
 * per version and its reader 1 + 2 wholes at most (4 would be x (1 + 1/4) and 5). Appends stay below it: their
 * patches are 1.2 to 1.4 × as large as the same text stored whole.
 */
const MOST_WHOLES = 2;

/** True if the new value is better not stored as one more patch on this chain. Pure; all inputs are bounded by it. */
export function cutsChain({ depth, wholeBytes, patchBytes, chainBytes }: ChainState): boolean {
  return (
    depth >= MAX_CHAIN_DEPTH || patchBytes >= wholeBytes || chainBytes + patchBytes > MOST_WHOLES * wholeBytes
  );
}
