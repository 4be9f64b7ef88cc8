import fc from "fast-check";
import { jsonBytes, jsonText } from "../../src/serde/jsonBytes.ts";

it("writes what JSON.stringify and TextEncoder write, at every length around a piece", () => {
  for (const length of [0, 1, 31, 32, 33, 63, 64, 65, 97]) {
    const value = Array.from({ length }, (_, index) => (index % 3 === 0 ? `größer 🙂 ${index}` : [index]));
    expect(Buffer.from(jsonBytes(value)).toString()).toBe(JSON.stringify(value));
  }
});

it("writes arrays whose text takes three bytes per character", () => {
  const value = Array.from({ length: 200 }, (_, index) => "漢".repeat(index) + "🙂".repeat(index % 7));
  expect(Buffer.from(jsonBytes(value)).toString()).toBe(JSON.stringify(value));
});

it("reads what JSON.parse and TextDecoder read, wherever characters of several bytes fall", () => {
  const unit = fc.oneof(
    fc.string({ unit: "binary" }),
    fc.constantFrom("é", "漢", "🙂", "\\", "\ufeff", "x".repeat(4090), "y".repeat(5000)),
  );
  fc.assert(
    fc.property(fc.array(unit, { maxLength: 8 }), fc.nat(3), (parts, shift) => {
      const bytes = new TextEncoder().encode(JSON.stringify(["a".repeat(shift), ...parts, parts.join("")]));
      expect(JSON.parse(jsonText(bytes))).toStrictEqual(JSON.parse(new TextDecoder().decode(bytes)));
    }),
    { numRuns: 500, seed: 13 },
  );
});

it("reads damaged UTF-8 without stopping", () => {
  for (const byte of [0x80, 0xbf, 0xc3, 0xff]) {
    expect(jsonText(new Uint8Array(10_000).fill(byte)).length).toBeGreaterThan(0);
  }
});
