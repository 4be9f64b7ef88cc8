import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { apply, diff, materialize, PatchError, type Patch } from "../../src/patch/index.ts";
import { anyEdit, edited, noise } from "./edits.ts";

const text = (value: string) => new TextEncoder().encode(value);

function chainOf(base: Uint8Array, states: Uint8Array[]): Patch[] {
  return states.map((state, i) => diff(i === 0 ? base : states[i - 1]!, state));
}

const history = fc
  .tuple(fc.uint8Array({ maxLength: 2000, max: 3 }), fc.array(anyEdit, { maxLength: 60 }))
  .map(([base, edits]) => {
    const states: Uint8Array[] = [];
    for (const edit of edits) states.push(edited(states.at(-1) ?? base, edit).slice(0, 20_000));
    return { base, states, patches: chainOf(base, states) };
  });

describe("materialize", () => {
  it("copies the base when there are no patches", () => {
    const base = text("base");
    const copy = materialize(base, []);
    expect(copy).toEqual(base);
    expect(copy).not.toBe(base);
  });

  it("equals applying one patch after another, for any history", () => {
    fc.assert(
      fc.property(history, ({ base, states, patches }) => {
        expect(Buffer.compare(materialize(base, patches), states.at(-1) ?? base)).toBe(0);
      }),
      { seed: 3, numRuns: 300 },
    );
  });

  it("equals applying one patch after another for chains of 300", () => {
    fc.assert(
      fc.property(
        fc.uint8Array({ maxLength: 3000 }),
        fc.array(anyEdit, { minLength: 300, maxLength: 300 }),
        (base, edits) => {
          const states: Uint8Array[] = [];
          for (const edit of edits) states.push(edited(states.at(-1) ?? base, edit).slice(0, 20_000));
          expect(Buffer.compare(materialize(base, chainOf(base, states)), states.at(-1)!)).toBe(0);
        },
      ),
      { seed: 4, numRuns: 20 },
    );
  });

  it("stays bounded when every patch is thousands of operations", () => {
    const base = noise(400_000, 1);
    const states: Uint8Array[] = [];
    for (let i = 0; i < 30; i++) {
      states.push(
        (states.at(-1) ?? base).map((byte, at) => ((at + 13 * i) % 100 === 0 ? byte ^ (i + 1) : byte)),
      );
    }
    const patches = chainOf(base, states);
    expect(patches[0]!.ops.length / 2).toBeGreaterThan(4000);
    expect(Buffer.compare(materialize(base, patches), states.at(-1)!)).toBe(0);
  });

  it("stays bounded when every patch doubles the number of pieces", () => {
    // Swapping and repeating tiny ranges: pieces multiply, operations do not.
    const base = noise(16, 2);
    const doubling = (length: number): Patch => ({
      baseLength: length,
      length: 2 * length,
      ops: new Int32Array([0, length, 0, length]),
      literals: new Uint8Array(0),
    });
    const patches = Array.from({ length: 18 }, (_, i) => doubling(16 << i));
    const expected = patches.reduce(apply, base);
    expect(Buffer.compare(materialize(base, patches), expected)).toBe(0);
  });

  it("takes chains longer than it traces at once", () => {
    const states = Array.from({ length: 1200 }, (_, i) =>
      text(`[${Array.from({ length: i % 40 }, (_, n) => i * n).join()}]`),
    );
    expect(Buffer.compare(materialize(text("[]"), chainOf(text("[]"), states)), states.at(-1)!)).toBe(0);
  });

  it("refuses a patch that does not fit what comes before it", () => {
    const patch = diff(text("ab"), text("abc"));
    expect(() => materialize(text("ab"), [patch, patch])).toThrow(PatchError);
    expect(() => materialize(text("abc"), [patch])).toThrow(
      "patch is for a base of 2 bytes; the one in the chain has 3",
    );
  });
});
