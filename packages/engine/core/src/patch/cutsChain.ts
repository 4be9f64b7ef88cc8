/** A chain that a patch is about to be added to. All sizes are in stored bytes. */
interface ChainState {
  /** The number of patches on the chain already: 0 if the base of the patch is where the chain begins. */
  readonly depth: number;
  /** The size of the new value if it is stored whole; an estimate will do. */
  readonly wholeBytes: number;
  /** The size of the new value if it is stored as a patch. */
  readonly patchBytes: number;
  /** The size of all patches on the chain already. */
  readonly chainBytes: number;
}

/**
 * How many patches a chain has at most.
 *
 * Each patch costs its reader a row and 20 to 35 µs: 11 to 19 µs to decompress 0.7 to 3 kB of literals with zstd-codec, and 6 to
 * 15 µs to decode and to trace. 128 patches take 2.3 ms (437 kB) to 4 ms (2.4 MB), less than the JSON.parse that follows. 170 take
 * 1.3 times as long; 256 take twice as long, and tracing grows to 5 ms.
 *
 * With limits of 64, 128, 170 and 256, a turn of the 500-turn state takes 7.1, 4.1, 3.4 and 2.7 kB if every cut stores the value
 * whole. If a cut stores a patch on the blob where the chain began, as long as {@link cutsChain} allows that too, it takes 3.3,
 * 3.0, 2.9 and 2.7 kB, and doesn't grow with the length of the history (docs/decisions/0002-two-level-chains.md).
 */
export const MAX_CHAIN_DEPTH = 170;

/**
 * The patches of a chain may together be at most this many times as large as the whole value. If each patch is a share x of the
 * whole value, a version then costs x (1 + 1/2) of it, and a reader fetches at most 1 + 2 times the whole value. (With 4 it would
 * be x (1 + 1/4) and 1 + 4.) Appends stay below this limit: their patches are 1.2 to 1.4 times as large as the same text stored
 * whole.
 */
const MOST_WHOLES = 2;

/** Whether a chain ends here, because the new value is better not stored as one more patch on it. */
export function cutsChain({ depth, wholeBytes, patchBytes, chainBytes }: ChainState): boolean {
  return (
    depth >= MAX_CHAIN_DEPTH || patchBytes >= wholeBytes || chainBytes + patchBytes > MOST_WHOLES * wholeBytes
  );
}
