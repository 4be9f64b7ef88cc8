/** How many bytes are compared one by one first. Most comparisons end there, before a native call would pay off. */
const SHORT = 32;
/** The window of the first native comparison, in bytes. Windows double as long as they are equal. */
const FIRST_WINDOW = 4096;
const LARGEST_WINDOW = 1 << 18;
/** Within fewer bytes than this, a loop finds the first difference sooner than another native call. */
const NARROW = 64;

/** How many bytes are equal in `a` from `aFrom` on and `b` from `bFrom` on, at most `max`. */
export function commonPrefixLength(a: Buffer, aFrom: number, b: Buffer, bFrom: number, max: number): number {
  const short = Math.min(SHORT, max);
  let done = 0;
  while (done < short && a[aFrom + done] === b[bFrom + done]) done++;
  if (done < short || done === max) return done;
  let window = FIRST_WINDOW;
  while (done < max) {
    const length = Math.min(window, max - done);
    if (!equalRange(a, aFrom + done, b, bFrom + done, length))
      return done + narrowPrefix(a, aFrom + done, b, bFrom + done, length);
    done += length;
    if (window < LARGEST_WINDOW) window *= 2;
  }
  return done;
}

/** How many bytes are equal in `a` before `aTo` and `b` before `bTo`, at most `max`. */
export function commonSuffixLength(a: Buffer, aTo: number, b: Buffer, bTo: number, max: number): number {
  const short = Math.min(SHORT, max);
  let done = 0;
  while (done < short && a[aTo - done - 1] === b[bTo - done - 1]) done++;
  if (done < short || done === max) return done;
  let window = FIRST_WINDOW;
  while (done < max) {
    const length = Math.min(window, max - done);
    const aFrom = aTo - done - length;
    const bFrom = bTo - done - length;
    if (!equalRange(a, aFrom, b, bFrom, length)) return done + narrowSuffix(a, aFrom, b, bFrom, length);
    done += length;
    if (window < LARGEST_WINDOW) window *= 2;
  }
  return done;
}

/** How many bytes are equal at the beginning of two ranges that differ. Halves the range until a loop is faster. */
function narrowPrefix(a: Buffer, aFrom: number, b: Buffer, bFrom: number, length: number): number {
  let from = 0;
  let to = length;
  while (to - from > NARROW) {
    const half = (to - from) >>> 1;
    if (equalRange(a, aFrom + from, b, bFrom + from, half)) from += half;
    else to = from + half;
  }
  while (a[aFrom + from] === b[bFrom + from]) from++;
  return from;
}

function narrowSuffix(a: Buffer, aFrom: number, b: Buffer, bFrom: number, length: number): number {
  let from = 0;
  let to = length;
  while (to - from > NARROW) {
    const half = (to - from) >>> 1;
    if (equalRange(a, aFrom + to - half, b, bFrom + to - half, half)) to -= half;
    else from = to - half;
  }
  while (a[aFrom + to - 1] === b[bFrom + to - 1]) to--;
  return length - to;
}

/**
 * Compares views instead of offsets, because `compare` of Deno's Buffer refuses ends that lie beyond the other buffer (seen in
 * 2.9.6).
 */
function equalRange(a: Buffer, aFrom: number, b: Buffer, bFrom: number, length: number): boolean {
  return a.subarray(aFrom, aFrom + length).equals(b.subarray(bFrom, bFrom + length));
}
