import { apply } from "./apply.ts";
import { copyBytes } from "./copyBytes.ts";
import { OpIndex } from "./OpIndex.ts";
import { INSERT, type Patch } from "./Patch.ts";
import { PatchError } from "./PatchError.ts";
import { PieceList } from "./PieceList.ts";

/** Operations that may be traced through a chain before its state is written down. */
const FEWEST_OPS = 4096;
/** The same as a share of the state: tracing a piece costs about as much as copying this many bytes. */
const BYTES_PER_OP = 128;

/**
 * The bytes at the end of a chain: `base` with every patch applied in turn, oldest first.
 *
 * Works backwards: each part of the result is traced through newer patches to older ones until it turns out to be a
 * literal or a part of the base, and only then copied, once. States in between are never built, unless patches are
 * so scattered that tracing would cost more than building one.
 *
 * @param patches oldest first; none at all yields a copy of `base`
 * @throws PatchError if a patch does not have the length of what it applies to as its `baseLength`
 */
export function materialize(base: Uint8Array, patches: readonly Patch[]): Uint8Array {
  checkLengths(base, patches);
  if (patches.length === 0) return base.slice();
  let state = base;
  let from = 0;
  while (from < patches.length) {
    const to = endOfGroup(patches, from);
    state = trace(state, patches, from, to) ?? applyEach(state, patches, from, to);
    from = to;
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

/** Patches from `from` up to the returned index are few enough operations to be traced together. */
function endOfGroup(patches: readonly Patch[], from: number): number {
  let ops = patches[from]!.ops.length / 2;
  let to = from + 1;
  while (to < patches.length) {
    ops += patches[to]!.ops.length / 2;
    if (ops > mostOps(patches[to]!)) break;
    to++;
  }
  return to;
}

function mostOps(patch: Patch): number {
  return Math.max(FEWEST_OPS, patch.length / BYTES_PER_OP);
}

/** Undefined if patches that copy the same bytes again and again would make the list of pieces too long. */
function trace(
  base: Uint8Array,
  patches: readonly Patch[],
  from: number,
  to: number,
): Uint8Array | undefined {
  if (to - from === 1) return undefined;
  const newest = patches[to - 1]!;
  const most = 2 * mostOps(newest);
  const result = new Uint8Array(newest.length);
  let wanted = new PieceList();
  let older = new PieceList();
  if (newest.length > 0) wanted.add(0, 0, newest.length);
  for (let i = to - 1; i >= from; i--) {
    older.clear();
    if (!traceThrough(patches[i]!, wanted, older, most, result)) return undefined;
    [wanted, older] = [older, wanted];
  }
  const { triples, count } = wanted;
  for (let i = 0; i < 3 * count; i += 3)
    copyBytes(base, triples[i + 1]!, result, triples[i]!, triples[i + 2]!);
  return result;
}

/** Copies the wanted pieces that are literals of `patch` to `result`; the others go to `older`, unless that exceeds `most`. */
function traceThrough(
  patch: Patch,
  wanted: PieceList,
  older: PieceList,
  most: number,
  result: Uint8Array,
): boolean {
  const { ops, literals } = patch;
  const index = new OpIndex(patch);
  const { starts, literalAt } = index;
  const { triples, count } = wanted;
  for (let i = 0; i < 3 * count; i += 3) {
    const shift = triples[i]! - triples[i + 1]!;
    const end = triples[i + 1]! + triples[i + 2]!;
    for (let at = triples[i + 1]!; at < end;) {
      const op = index.find(at);
      const skipped = at - starts[op]!;
      const length = Math.min(starts[op + 1]!, end) - at;
      const source = ops[2 * op]!;
      if (source === INSERT) copyBytes(literals, literalAt[op]! + skipped, result, at + shift, length);
      else older.add(at + shift, source + skipped, length);
      at += length;
    }
    if (older.count > most) return false;
  }
  return true;
}

function applyEach(base: Uint8Array, patches: readonly Patch[], from: number, to: number): Uint8Array {
  let state = base;
  for (let i = from; i < to; i++) state = apply(state, patches[i]!);
  return state;
}
