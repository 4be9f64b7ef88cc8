import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { apply, decodePatch, diff, encodePatch, PatchError } from "../../src/patch/index.ts";
import { anyEdit, edited, noise, random } from "./edits.ts";

const text = (value: string) => new TextEncoder().encode(value);
const none = new Uint8Array(0);

describe("encodePatch and decodePatch", () => {
  it("round-trip any patch", () => {
    fc.assert(
      fc.property(
        fc.uint8Array({ maxLength: 3000, max: 3 }),
        fc.array(anyEdit, { maxLength: 6 }),
        (base, edits) => {
          const patch = diff(base, edits.reduce(edited, base));
          const { ops, literals } = encodePatch(patch);
          expect(decodePatch(ops, literals, 1 << 20)).toEqual(patch);
        },
      ),
      { seed: 6, numRuns: 1000 },
    );
  });

  it("round-trip lengths and offsets up to 2 GiB - 1", () => {
    const most = 0x7fff_ffff;
    const patch = {
      baseLength: most,
      length: most,
      ops: new Int32Array([most - 5, 5, 0, most - 5]),
      literals: none,
    };
    expect(decodePatch(encodePatch(patch).ops, none)).toEqual(patch);
  });

  it("take about 20 bytes for an append to 2 MB", () => {
    const base = noise(2_000_000, 8);
    const next = Buffer.concat([base.subarray(0, -1), text("a new message"), base.subarray(-1)]);
    expect(encodePatch(diff(base, next)).ops.length).toBeLessThanOrEqual(20);
  });

  it("are stable: these bytes are the format", () => {
    const { ops, literals } = encodePatch(diff(text("[1,2]"), text("[1,2,3]")));
    expect(Buffer.from(ops).toString("hex")).toBe("050703" + "0900" + "04" + "0300");
    expect(Buffer.from(literals).toString()).toBe(",3");
  });
});

describe("decodePatch refuses", () => {
  const huge = [0xff, 0xff, 0xff, 0xff, 0x0f];
  const cases: [name: string, ops: number[], literals: Uint8Array, message: string][] = [
    ["nothing at all", [], none, "patch has no readable base length: bytes end inside a number"],
    [
      "a missing count",
      [4, 4],
      none,
      "patch has no readable number of operations: bytes end inside a number",
    ],
    ["an unfinished number", [0x84], none, "patch has no readable base length: bytes end inside a number"],
    [
      "an overlong number",
      [0x84, 0x00],
      none,
      "patch has no readable base length: number not in its shortest form",
    ],
    [
      "a number beyond 53 bits",
      [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1],
      none,
      "patch has no readable base length: number too large",
    ],
    [
      "a base that is too long",
      [...huge, 0, 0],
      none,
      "patch has a base length of 4294967295 bytes; at most 100 are accepted",
    ],
    [
      "a result that is too long",
      [0, 101, 0],
      none,
      "patch has a result length of 101 bytes; at most 100 are accepted",
    ],
    [
      "a count beyond its bytes",
      [4, 4, ...huge],
      none,
      "patch names 4294967295 operations but has 0 bytes for them",
    ],
    ["missing operations", [4, 4, 1], none, "patch names 1 operations but has 0 bytes for them"],
    ["an operation of length 0", [4, 4, 1, 1, 0], none, "patch has an operation of length 0"],
    [
      "a copy without its offset",
      [4, 4, 1, 9],
      none,
      "patch has no readable copy offset: bytes end inside a number",
    ],
    ["a copy before the base", [4, 4, 1, 9, 1], none, "patch copies bytes -1 to 3 of a base of 4"],
    ["a copy beyond the base", [4, 4, 1, 9, 2], none, "patch copies bytes 1 to 5 of a base of 4"],
    ["more bytes than declared", [4, 3, 1, 9, 0], none, "patch yields more than the 3 bytes it declares"],
    ["fewer bytes than declared", [4, 5, 1, 9, 0], none, "patch yields 4 bytes but declares 5"],
    ["missing literals", [4, 4, 1, 8], text("abc"), "patch inserts 4 bytes but has 3 literal bytes"],
    [
      "literals that nothing inserts",
      [4, 4, 1, 9, 0],
      text("a"),
      "patch inserts 0 bytes but has 1 literal bytes",
    ],
    ["bytes after the end", [4, 4, 1, 9, 0, 0], none, "patch has 1 bytes after its last operation"],
  ];

  it.each(cases)("%s", (_name, ops, literals, message) => {
    expect(() => decodePatch(Uint8Array.from(ops), literals, 100)).toThrow(PatchError);
    expect(() => decodePatch(Uint8Array.from(ops), literals, 100)).toThrow(message);
  });

  it("or applies: mutated patches never do anything else", () => {
    const base = noise(5000, 9);
    const next = random(10);
    let applied = 0;
    for (let run = 0; run < 30_000; run++) {
      const changed = base.slice();
      changed[Math.floor(next() * 5000)]! ^= 1;
      const { ops, literals } = encodePatch(
        diff(base, run % 2 ? changed : changed.subarray(0, Math.floor(next() * 5000))),
      );
      const bytes = ops.slice(0, next() < 0.2 ? Math.floor(next() * ops.length) : ops.length);
      for (let i = next() * 3; i > 0; i--) bytes[Math.floor(next() * bytes.length)] = next() * 256;
      try {
        const patch = decodePatch(bytes, literals, 6000);
        expect(apply(new Uint8Array(patch.baseLength), patch).length).toBe(patch.length);
        applied++;
      } catch (error) {
        if (!(error instanceof PatchError)) throw error;
      }
    }
    expect(applied).toBeGreaterThan(100);
    expect(applied).toBeLessThan(29_000);
  });

  it("random bytes without crashing", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 40 }), fc.uint8Array({ maxLength: 8 }), (ops, literals) => {
        try {
          decodePatch(ops, literals, 1000);
        } catch (error) {
          if (!(error instanceof PatchError)) throw error;
        }
      }),
      { seed: 7, numRuns: 5000 },
    );
  });
});
