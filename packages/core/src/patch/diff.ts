import { commonPrefixLength, commonSuffixLength } from "./commonLength.ts";
import { matchBlocks, type Range } from "./matchBlocks.ts";
import { OpList } from "./OpList.ts";
import { INSERT, MAX_PATCH_LENGTH, type Patch } from "./Patch.ts";
import { PatchError } from "./PatchError.ts";

/** A middle of more bytes than this may contain copies from anywhere in the base. */
const LARGE = 1 << 15;
/**
 * How many bytes before the middle a smaller one may copy from: messages repeat what the last ones said, and a
 * compressor of the literals does not see those. At most so many bytes, and so many for each byte of the middle.
 */
const LOOK_BACK = 1 << 16;
const LOOK_BACK_PER_BYTE = 64;

/**
 * The patch that makes `next` out of `base`: their common beginning and end are copied; what lies between is
 * described by inserts, and copies of 32 bytes or more from the same place in the base or not far before it (from
 * anywhere, if it is large). Takes linear time on any input.
 *
 * @param base any bytes, up to 2 GiB - 1
 * @param next any bytes, up to 2 GiB - 1
 * @returns a patch whose literals are a copy: it keeps neither input alive
 * @throws PatchError if an input is longer
 */
export function diff(base: Uint8Array, next: Uint8Array): Patch {
  if (base.length > MAX_PATCH_LENGTH || next.length > MAX_PATCH_LENGTH) {
    throw new PatchError(
      `a patch can describe at most ${MAX_PATCH_LENGTH} bytes; got ${base.length} and ${next.length}`,
    );
  }
  const from = bufferOver(base);
  const to = bufferOver(next);
  const shorter = Math.min(from.length, to.length);
  const prefix = commonPrefixLength(from, 0, to, 0, shorter);
  const suffix = commonSuffixLength(from, from.length, to, to.length, shorter - prefix);

  const ops = new OpList();
  ops.copy(0, prefix);
  const middle = { bytes: to, from: prefix, to: to.length - suffix };
  matchBlocks(sourceOf(from, prefix, from.length - suffix, middle.to - middle.from), middle, ops);
  ops.copy(from.length - suffix, suffix);
  const pairs = ops.finish();
  return { baseLength: base.length, length: next.length, ops: pairs, literals: gather(to, pairs) };
}

/** Where the middle of `next`, of `length` bytes, may be copied from; the middle of the base is `from` to `to`. */
function sourceOf(bytes: Buffer, from: number, to: number, length: number): Range {
  if (length > LARGE) return { bytes, from: 0, to: bytes.length };
  return { bytes, from: Math.max(0, from - Math.min(LOOK_BACK, length * LOOK_BACK_PER_BYTE)), to };
}

/** The bytes of `next` that the inserts stand for. */
function gather(next: Buffer, ops: Int32Array): Uint8Array {
  let total = 0;
  for (let i = 0; i < ops.length; i += 2) if (ops[i] === INSERT) total += ops[i + 1]!;
  const literals = new Uint8Array(total);
  let filled = 0;
  let at = 0;
  for (let i = 0; i < ops.length; i += 2) {
    const length = ops[i + 1]!;
    if (ops[i] === INSERT) {
      literals.set(next.subarray(at, at + length), filled);
      filled += length;
    }
    at += length;
  }
  return literals;
}

function bufferOver(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
