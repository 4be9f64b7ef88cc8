import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { ByteReader, MAX_VARINT_BYTES, varint } from "../../src/encode/bytes.ts";

const read = (...bytes: number[]) => new ByteReader(Uint8Array.from(bytes)).varint();

describe("varints", () => {
  test("round-trip every integer below 2^53", () => {
    fc.assert(
      fc.property(fc.maxSafeNat(), (value) => {
        const bytes = varint(value);
        expect(bytes.length).toBeLessThanOrEqual(MAX_VARINT_BYTES);
        const reader = new ByteReader(bytes);
        expect(reader.varint()).toBe(value);
        expect(reader.left).toBe(0);
      }),
    );
    expect(Buffer.from(varint(300)).toString("hex")).toBe("ac02");
  });

  test.each([
    ["bytes that end inside a number", [0x80], "bytes end inside a number"],
    ["a number that isn't in its shortest form", [0x84, 0x00], "number not in its shortest form"],
    ["2^53", [0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x10], "number too large"],
    ["a ninth byte", [...Array<number>(8).fill(0x80), 0x01], "number too large"],
  ])("refuse %s", (_name, bytes, message) => {
    expect(() => read(...bytes)).toThrow(new RangeError(message));
  });
});
