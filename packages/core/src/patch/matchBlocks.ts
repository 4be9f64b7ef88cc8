import { commonPrefixLength, commonSuffixLength } from "./commonLength.ts";
import type { OpList } from "./OpList.ts";

/** A range of bytes: `from` inclusive, `to` exclusive. */
export interface Range {
  readonly bytes: Buffer;
  readonly from: number;
  readonly to: number;
}

/** Bytes that a hash covers, and the shortest copy. */
export const WINDOW = 32;
/** Distance of the windows in a small range, and in a large one, in bytes. */
const NEAREST = 8;
const FAR = 32;
const FEW_SAMPLES = 1 << 14;
/** The table stays within the second-level cache: larger bases are sampled more thinly. */
const MOST_SAMPLES = 1 << 17;
/** After this many bytes without a match the scan looks at fewer places, so that new data costs little. */
const PATIENCE = 1 << 15;
/** Odd, so that every offset modulo the (even) sampling distance is still met. */
const LARGEST_STEP = 7;

/**
 * Describes `next` by copies from `base` and inserts, appended to `ops`. Works like rsync: windows of the base,
 * one every `stride` bytes or more, go into a hash table; wherever a window of `next` meets one of them the match
 * is extended both ways. One table slot per hash and no probing, so the time is linear whatever the bytes are.
 */
export function matchBlocks(base: Range, next: Range, ops: OpList): void {
  if (base.to - base.from < WINDOW || next.to - next.from < WINDOW) {
    ops.insert(next.to - next.from);
    return;
  }
  const samples = sampleBase(base);
  const shift = 32 - Math.log2(samples.length);
  const view = viewOf(next.bytes);
  const last = next.to - WINDOW;
  let emitted = next.from;
  let at = next.from;
  while (at <= last) {
    const found = samples[hashAt(view, at) >>> shift]! - 1;
    if (found >= 0) {
      const forward = commonPrefixLength(
        base.bytes,
        found,
        next.bytes,
        at,
        Math.min(base.to - found, next.to - at),
      );
      if (forward >= WINDOW) {
        const room = Math.min(found - base.from, at - emitted);
        const back = commonSuffixLength(base.bytes, found, next.bytes, at, room);
        ops.insert(at - back - emitted);
        ops.copy(found - back, back + forward);
        at += forward;
        emitted = at;
        continue;
      }
    }
    const unmatched = at - emitted;
    at += unmatched < PATIENCE ? 1 : Math.min(LARGEST_STEP, 1 + 2 * Math.floor(unmatched / PATIENCE));
  }
  ops.insert(next.to - emitted);
}

/** Offset + 1 of a window of the base, by the leading bits of its hash; 0 where there is none. */
function sampleBase(base: Range): Int32Array {
  const length = base.to - base.from - WINDOW + 1;
  let stride = NEAREST;
  while (length / stride > FEW_SAMPLES && stride < FAR) stride *= 2;
  while (length / stride > MOST_SAMPLES) stride *= 2;
  const count = Math.ceil(length / stride);
  const bits = Math.max(4, Math.ceil(Math.log2(count * 2)));
  const samples = new Int32Array(1 << bits);
  const shift = 32 - bits;
  const view = viewOf(base.bytes);
  // The first of equal windows stays: in a run of one byte it is the one that the longest copy starts from.
  for (let at = base.from, i = 0; i < count; i++, at += stride) {
    const slot = hashAt(view, at) >>> shift;
    if (samples[slot] === 0) samples[slot] = at + 1;
  }
  return samples;
}

/** Half of the window's bytes are enough to tell windows apart; a match is verified anyway. */
function hashAt(view: DataView, at: number): number {
  let hash = Math.imul(view.getInt32(at, true), 0x9e3779b1);
  hash = Math.imul((hash ^ (hash >>> 15)) + view.getInt32(at + 9, true), 0x85ebca6b);
  hash = Math.imul((hash ^ (hash >>> 13)) + view.getInt32(at + 18, true), 0xc2b2ae35);
  hash = Math.imul((hash ^ (hash >>> 16)) + view.getInt32(at + 28, true), 0x27d4eb2f);
  return hash ^ (hash >>> 15);
}

function viewOf(bytes: Buffer): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
}
