/** What is known about a chain when a patch is about to be added to it; all sizes in stored bytes. */
export interface ChainState {
  /** Patches on the chain already: 0 when the parent's blob is whole. */
  readonly depth: number;
  /** Size of the new value stored whole; an estimate will do. */
  readonly wholeBytes: number;
  /** Size of the new value stored as a patch. */
  readonly patchBytes: number;
  /** Size of all patches on the chain already. */
  readonly chainBytes: number;
}

export const MAX_CHAIN_DEPTH = 128;
const MOST_WHOLES = 4;

/** True if the new value is better stored whole than as one more patch on its parent's chain. */
export function cutsChain({ depth, wholeBytes, patchBytes, chainBytes }: ChainState): boolean {
  return (
    depth >= MAX_CHAIN_DEPTH || patchBytes >= wholeBytes || chainBytes + patchBytes > MOST_WHOLES * wholeBytes
  );
}
