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
