import fc from "fast-check";
import { expect, test } from "vitest";
import { compareCodePoints, compareWrites } from "../../src/encode/writeOrder.ts";

const codePoints = (text: string): number[] => Array.from(text, (character) => character.codePointAt(0)!);

/** By definition: list by list of code points. */
function byDefinition(a: string, b: string): number {
  const [left, right] = [codePoints(a), codePoints(b)];
  for (const [n, point] of left.entries()) {
    const other = right[n];
    if (other === undefined) return 1;
    if (point !== other) return point < other ? -1 : 1;
  }
  return left.length === right.length ? 0 : -1;
}

/** Texts of few characters, among them halves of pairs, pairs, and what UTF-16 sorts otherwise than code points. */
const texts = fc
  .array(
    fc.constantFrom(
      "a",
      "b",
      "\ud83d",
      "\ud83e",
      "\ude00",
      "\ude01",
      "\u{1f600}",
      "\u{10000}",
      "\ue000",
      "\uffff",
    ),
    {
      maxLength: 5,
    },
  )
  .map((parts) => parts.join(""));

test("texts are compared by code point, also where half a pair stands alone", () => {
  fc.assert(
    fc.property(texts, texts, (a, b) => {
      expect(Math.sign(compareCodePoints(a, b))).toBe(byDefinition(a, b));
    }),
    { numRuns: 5000 },
  );
});

test("an emoji comes after U+FFFF, and what is shorter first", () => {
  const sorted = ["\u{1f600}", "\uffff", "\ue000", "z", "", "zz"].sort(compareCodePoints);
  expect(sorted).toEqual(["", "z", "zz", "\ue000", "\uffff", "\u{1f600}"]);
});

test("writes go by path, then task, then index", () => {
  const place = fc.record({ taskPath: texts, taskId: texts, index: fc.integer({ min: -4, max: 3 }) });
  fc.assert(
    fc.property(place, place, (a, b) => {
      const expected =
        byDefinition(a.taskPath, b.taskPath) ||
        byDefinition(a.taskId, b.taskId) ||
        Math.sign(a.index - b.index);
      expect(Math.sign(compareWrites(a, b))).toBe(expected);
    }),
    { numRuns: 5000 },
  );
});
