import { expect, test, vi } from "vitest";
import { commonPrefixLength, commonSuffixLength } from "../../src/patch/commonLength.ts";

/** Deno's: ends are checked against the length of the other buffer. */
function denoCompare(this: Buffer, ...args: unknown[]): number {
  const [target, , targetEnd, , sourceEnd] = args as [Uint8Array, number, number, number, number];
  if (targetEnd > this.length || sourceEnd > target.length)
    throw new RangeError('"sourceEnd" is out of range');
  return Buffer.compare(this, target);
}

test("buffers of different lengths are compared as far as they go, also where Buffer#compare is Deno's", () => {
  const compare = vi.spyOn(Buffer.prototype, "compare").mockImplementation(denoCompare);
  try {
    const short = Buffer.alloc(5000, "abc");
    const long = Buffer.concat([short, Buffer.alloc(9000, "x")]);
    expect(commonPrefixLength(short, 0, long, 0, 5000)).toBe(5000);
    expect(commonPrefixLength(long, 0, short, 0, 5000)).toBe(5000);
    const after = Buffer.concat([Buffer.alloc(9000, "x"), short]);
    expect(commonPrefixLength(short, 0, after, 9000, 5000)).toBe(5000);
    expect(commonSuffixLength(short, 5000, after, 14_000, 5000)).toBe(5000);
    expect(commonSuffixLength(after, 14_000, short, 5000, 5000)).toBe(5000);
    const changed = Buffer.from(after);
    changed[12_345]! ^= 1;
    expect(commonSuffixLength(changed, 14_000, short, 5000, 5000)).toBe(14_000 - 12_346);
  } finally {
    compare.mockRestore();
  }
});
