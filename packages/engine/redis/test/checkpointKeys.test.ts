import fc from "fast-check";
import {
  decodeId,
  decodeCheckpointKey,
  encodeId,
  encodeCheckpointKey,
  checkpointKeyBounds,
} from "../src/checkpointKeys.ts";

/** Texts in which the hard parts are frequent: zeros, halves of pairs, the characters beside them. */
const id = fc.string({
  unit: fc.oneof(
    fc.constantFrom("\0", "\u0001", "\uD7FF", "\uE000", "\uFFFF", "\u{10000}", "\u{10FFFF}", "a", "ÿ", "í"),
    fc.string({ unit: "binary", minLength: 1, maxLength: 1 }),
  ),
  minLength: 1,
});
const namespace = fc.string({ unit: fc.constantFrom("\0", "\u0001", "a", "|", ":", "\u{1F600}") });
const bytes = (value: string | Buffer) => Buffer.from(value);
const settings = { seed: 4, numRuns: 500 };

test("an encoded id comes back", () => {
  fc.assert(
    fc.property(id, (text) => {
      expect(decodeId(bytes(encodeId(text)))).toBe(text);
      expect(bytes(encodeId(text)).includes("\0\0")).toBe(false);
    }),
    settings,
  );
});

test("keys keep namespace and id apart, and sort as JavaScript sorts the ids", () => {
  fc.assert(
    fc.property(id, id, namespace, namespace, (a, b, nsA, nsB) => {
      const [keyA, keyB] = [bytes(encodeCheckpointKey(nsA, a)), bytes(encodeCheckpointKey(nsB, b))];
      expect(decodeCheckpointKey(keyA)).toEqual({ namespace: nsA, checkpointId: a });
      if (a !== b) expect(Math.sign(Buffer.compare(keyA, keyB))).toBe(a < b ? -1 : 1);
      else expect(keyA.equals(keyB)).toBe(nsA === nsB);
    }),
    settings,
  );
});

test("bounds hold exactly the keys asked for", () => {
  fc.assert(
    fc.property(id, id, id, namespace, (checkpointId, before, other, ns) => {
      const key = bytes(encodeCheckpointKey(ns, other));
      expect(within(key, checkpointKeyBounds({ before }))).toBe(other < before);
      expect(within(key, checkpointKeyBounds({ checkpointId }))).toBe(other === checkpointId);
      expect(
        within(bytes(encodeCheckpointKey(ns, checkpointId)), checkpointKeyBounds({ checkpointId, before })),
      ).toBe(checkpointId < before);
    }),
    settings,
  );
});

/** What ZREVRANGEBYLEX makes of bounds. */
function within(key: Buffer, { min, max }: ReturnType<typeof checkpointKeyBounds>): boolean {
  const [low, high] = [bytes(min), bytes(max)];
  const aboveLow = low[0] === 45 || (low[0] !== 43 && Buffer.compare(key, low.subarray(1)) >= 0);
  const belowHigh = high[0] === 43 || (high[0] !== 45 && Buffer.compare(key, high.subarray(1)) < 0);
  return aboveLow && belowHigh;
}
