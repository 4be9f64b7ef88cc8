import { commonPrefixLength, commonSuffixLength } from "./commonLength.ts";
import { matchBlocks, type Range } from "./matchBlocks.ts";
import { OpList } from "./opList.ts";
import { INSERT, MAX_PATCH_LENGTH, type Patch } from "./patch.ts";
import { PatchError } from "./patchError.ts";

/** If the middle has more bytes than this, it may contain copies from anywhere in the base. */
const LARGE = 1 << 15;
/**
 * How many bytes before the middle a smaller middle may copy from. Messages repeat what the last ones said, and a compressor of the
 * literals doesn't see those. The limits are a number of bytes, and a number for each byte of the middle: looking twice as far
 * takes twice as long and made a growing conversation of 500 turns no smaller.
 */
const LOOK_BACK = 1 << 15;
const LOOK_BACK_PER_BYTE = 32;

/**
 * The patch that makes `next` out of `base`. Their common beginning and end are copied. The middle is described by
 * inserts, and by copies of 32 bytes or more from the same place in the base or not far before it (from anywhere, if
 * the middle is large). Takes linear time on any input.
 *
 * @param base any bytes, up to 2 GiB - 1
 * @param next any bytes, up to 2 GiB - 1
 * @returns a patch whose literals are a copy: it keeps neither input alive
 * @throws PatchError if an input is longer
 */
export function diff(base: Uint8Array, next: Uint8Array): Patch {
  checkLength(Math.max(base.length, next.length));
  const from = bufferOver(base);
  const to = bufferOver(next);
  const shorter = Math.min(from.length, to.length);
  const prefix = commonPrefixLength(from, 0, to, 0, shorter);
  const suffix = commonSuffixLength(from, from.length, to, to.length, shorter - prefix);

  return patchBetween(
    { bytes: from, from: prefix, to: from.length - suffix },
    { bytes: to, from: prefix, to: to.length - suffix },
    suffix,
  );
}

/**
 * As {@link diff}, if `next` is known to be the base with some bytes inserted before its end. Nothing is compared.
 *
 * @param next the result without its end
 * @param from where the inserted bytes begin
 * @param end how many bytes come after them, in the base and in the result
 */
export function diffAdded(next: Uint8Array, from: number, end: number): Patch {
  checkLength(next.length + end);
  const bytes = bufferOver(next);
  return patchBetween(
    { bytes: bytes.subarray(0, from), from, to: from },
    { bytes, from, to: bytes.length },
    end,
  );
}

/** The patch between two byte strings that are equal before a middle, and in the `suffix` bytes after it. */
function patchBetween(base: Range, next: Range, suffix: number): Patch {
  const ops = new OpList();
  ops.copy(0, next.from);
  matchBlocks(sourceOf(base, next.to - next.from), next, ops);
  ops.copy(base.to, suffix);
  const pairs = ops.finish();
  return {
    baseLength: base.to + suffix,
    length: next.to + suffix,
    ops: pairs,
    literals: literalsOf(next.bytes, pairs),
  };
}

function checkLength(length: number): void {
  if (length > MAX_PATCH_LENGTH)
    throw new PatchError(`a patch can describe at most ${MAX_PATCH_LENGTH} bytes; got ${length}`);
}

/** The range of the base that a middle of `length` bytes may be copied from. */
function sourceOf({ bytes, from, to }: Range, length: number): Range {
  if (length > LARGE) return { bytes, from: 0, to: bytes.length };
  return { bytes, from: Math.max(0, from - Math.min(LOOK_BACK, length * LOOK_BACK_PER_BYTE)), to };
}

/** The bytes of `next` that the inserts of a patch insert. */
function literalsOf(next: Buffer, ops: Int32Array): Uint8Array {
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
