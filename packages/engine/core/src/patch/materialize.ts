import { apply } from "./apply.ts";
import { ChainTracer } from "./chainTracer.ts";
import type { Patch } from "./patch.ts";
import { PatchError } from "./patchError.ts";

/** Tracing a piece through a patch takes about as long as copying this many bytes. */
const BYTES_PER_PIECE = 128;
/** The number of pieces that may always be traced, however short the states are. */
const FEWEST_PIECES = 1 << 12;
/** The most patches that are traced together, because tracing recurses once per patch. */
const MOST_PATCHES = 512;

/**
 * The bytes at the end of a chain: `base` with every patch applied in turn, oldest first.
 *
 * Each part of the result is traced back through the patches to a literal or to a part of the base, and copied from there once. The
 * states in between are only built where patches are so scattered that tracing would take longer.
 *
 * @param patches oldest first; without any the result is a copy of `base`
 * @throws PatchError if the `baseLength` of a patch is not the length of what it applies to
 */
export function materialize(base: Uint8Array, patches: readonly Patch[]): Uint8Array {
  checkLengths(base, patches);
  if (patches.length === 0) return base.slice();
  let state = base;
  for (let from = 0; from < patches.length; from += MOST_PATCHES) {
    const group = patches.slice(from, from + MOST_PATCHES);
    state = trace(state, group) ?? group.reduce(apply, state);
  }
  return state;
}

function checkLengths(base: Uint8Array, patches: readonly Patch[]): void {
  let length = base.length;
  for (const patch of patches) {
    if (patch.baseLength !== length) {
      throw new PatchError(
        `patch is for a base of ${patch.baseLength} bytes; the one in the chain has ${length}`,
      );
    }
    length = patch.length;
  }
}

/** Undefined if there would be too many pieces. */
function trace(base: Uint8Array, patches: readonly Patch[]): Uint8Array | undefined {
  if (patches.length === 1) return undefined;
  const built = patches.reduce((sum, { length }) => sum + length, 0);
  return new ChainTracer(base, patches, Math.max(FEWEST_PIECES, built / BYTES_PER_PIECE)).run();
}
