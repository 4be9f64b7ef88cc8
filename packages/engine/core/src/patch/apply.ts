import { INSERT, type Patch } from "./patch.ts";
import { PatchError } from "./patchError.ts";

/**
 * The bytes that `patch` makes out of `base`.
 *
 * @returns `patch.length` bytes of their own
 * @throws PatchError if `base` does not have the length the patch was made for
 */
export function apply(base: Uint8Array, patch: Patch): Uint8Array {
  if (base.length !== patch.baseLength) {
    throw new PatchError(`patch is for a base of ${patch.baseLength} bytes; this one has ${base.length}`);
  }
  const { ops, literals } = patch;
  const result = new Uint8Array(patch.length);
  let at = 0;
  let literal = 0;
  for (let i = 0; i < ops.length; i += 2) {
    const source = ops[i]!;
    const length = ops[i + 1]!;
    if (source === INSERT) {
      copyBytes(literals, literal, result, at, length);
      literal += length;
    } else {
      copyBytes(base, source, result, at, length);
    }
    at += length;
  }
  return result;
}

/** Below this many bytes a loop is faster than the view that a native copy needs. */
const SHORT = 48;

/** Copies `length` bytes of `from`, starting at `fromAt`, into `to` at `toAt`. */
export function copyBytes(
  from: Uint8Array,
  fromAt: number,
  to: Uint8Array,
  toAt: number,
  length: number,
): void {
  if (length >= SHORT) {
    to.set(from.subarray(fromAt, fromAt + length), toAt);
    return;
  }
  for (let i = 0; i < length; i++) to[toAt + i] = from[fromAt + i]!;
}
