import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { apply, diff, INSERT, PatchError, type Patch } from "../../src/patch/index.ts";
import { anyEdit, edited, noise, random } from "./edits.ts";

const text = (value: string) => new TextEncoder().encode(value);
const kinds = (patch: Patch) =>
  Array.from({ length: patch.ops.length / 2 }, (_, i) =>
    patch.ops[2 * i] === INSERT ? "insert" : "copy",
  ).join(" ");

function messages(from: number, to: number): string[] {
  return Array.from({ length: to - from }, (_, i) => {
    const next = random(from + i + 1);
    const words = Array.from({ length: 60 }, () => Math.floor(next() * 1e6).toString(36)).join(" ");
    return JSON.stringify({ role: i % 2 ? "ai" : "human", id: `message-${from + i}`, content: words });
  });
}
const state = (list: string[]) => text(`[${list.join(",")}]`);
const history = messages(0, 400);
const base = state(history);
const rewrite = (list: string[], at: number) =>
  list.with(at, list[at]!.replace("content", "summary of the content"));

describe("diff and apply", () => {
  const cases: [name: string, base: Uint8Array, next: Uint8Array, mostLiterals: number, mostOps: number][] = [
    ["both empty", text(""), text(""), 0, 0],
    ["empty base", text(""), base, base.length, 1],
    ["empty result", base, text(""), 0, 0],
    ["equal", base, base.slice(), 0, 1],
    ["one byte each, different", text("a"), text("b"), 1, 1],
    ["append a message", base, state([...history, ...messages(400, 401)]), 500, 3],
    ["prepend a message", base, state([...messages(400, 401), ...history]), 500, 3],
    ["rewrite an old message", base, state(rewrite(history, 200)), 40, 3],
    ["remove one message", base, state(history.toSpliced(100, 1)), 0, 2],
    ["trim the oldest half", base, state(history.slice(200)), 0, 2],
    ["trim the oldest and append", base, state([...history.slice(10), ...messages(400, 401)]), 600, 5],
    ["summarise the older half", base, state([...messages(900, 901), ...history.slice(200)]), 500, 3],
    ["six scattered edits", base, state([20, 90, 170, 230, 300, 380].reduce(rewrite, history)), 300, 13],
    ["swap two halves", base, state([...history.slice(200), ...history.slice(0, 200)]), 100, 6],
    ["repeat everything", base, new Uint8Array([...base, ...base]), 100, 4],
    ["grow a run of one byte", new Uint8Array(10_000), new Uint8Array(25_000), 15_000, 4],
    ["nothing in common", noise(50_000, 1), noise(50_000, 2), 50_000, 3],
  ];

  it.each(cases)("%s", (_name, before, after, mostLiterals, mostOps) => {
    const patch = diff(before, after);
    expect(Buffer.from(apply(before, patch)).equals(after)).toBe(true);
    expect(patch).toMatchObject({ baseLength: before.length, length: after.length });
    expect(patch.literals.length).toBeLessThanOrEqual(mostLiterals);
    expect(patch.ops.length / 2).toBeLessThanOrEqual(mostOps);
  });

  it("describes an append as a copy of all before it, an insert and a copy of the closing bytes", () => {
    const patch = diff(text("[1,2]"), text("[1,2,3]"));
    expect(kinds(patch)).toBe("copy insert copy");
    expect(Buffer.from(patch.literals).toString()).toBe(",3");
  });

  it("copies what a new message repeats of the messages before it", () => {
    const again = [...history, history[395]!.replace("message-395", "message-400")];
    const patch = diff(base, state(again));
    expect(patch.literals.length).toBeLessThan(80);
  });

  it("does not keep or change its inputs", () => {
    const before = text("before");
    const after = text("after, something longer");
    const patch = diff(before, after);
    expect(patch.literals.buffer).not.toBe(after.buffer);
    apply(before, patch).fill(0);
    expect(Buffer.from(before).toString()).toBe("before");
  });

  it("reads views that start within their memory", () => {
    const memory = noise(9000, 3);
    const before = memory.subarray(1001, 5001);
    const after = memory.subarray(1101, 5101);
    expect(apply(before, diff(before, after))).toEqual(after.slice());
  });

  it("refuses a base of another length", () => {
    const patch = diff(text("base"), text("next"));
    expect(() => apply(text("bases"), patch)).toThrow(PatchError);
    expect(() => apply(text("bases"), patch)).toThrow("patch is for a base of 4 bytes; this one has 5");
  });

  it("restores any bytes after any edits", () => {
    const bytes = fc.oneof(fc.uint8Array({ maxLength: 4000 }), fc.uint8Array({ maxLength: 4000, max: 1 }));
    fc.assert(
      fc.property(bytes, fc.array(anyEdit, { maxLength: 8 }), (before, edits) => {
        const after = edits.reduce(edited, before);
        expect(Buffer.compare(apply(before, diff(before, after)), after)).toBe(0);
      }),
      { seed: 1, numRuns: 1500 },
    );
  });

  it("restores unrelated bytes", () => {
    fc.assert(
      fc.property(
        fc.uint8Array({ maxLength: 600, max: 2 }),
        fc.uint8Array({ maxLength: 600, max: 2 }),
        (before, after) => {
          expect(Buffer.compare(apply(before, diff(before, after)), after)).toBe(0);
        },
      ),
      { seed: 2, numRuns: 1000 },
    );
  });
});

describe("diff takes linear time", () => {
  const size = 16 << 20;
  const repeated = (length: number, block: Uint8Array) => Buffer.alloc(length, block);
  const cases: [name: string, before: Uint8Array, after: Uint8Array][] = [
    ["all zero, longer", new Uint8Array(size), new Uint8Array(size + 4096)],
    ["zero against one", new Uint8Array(size), new Uint8Array(size).fill(1)],
    ["one block repeated, shifted", repeated(size, noise(32, 4)), repeated(size, noise(32, 4)).subarray(7)],
    [
      "blocks that agree except at their end",
      repeated(size, text(`${"a".repeat(31)}b`)),
      repeated(size, text(`${"a".repeat(31)}c`)),
    ],
    ["nothing in common", noise(size, 5), noise(size, 6)],
    [
      "a byte changed in every 40",
      noise(size, 7),
      noise(size, 7).map((byte, i) => (i % 40 === 0 ? byte ^ 1 : byte)),
    ],
  ];

  it.each(cases)("%s, 16 MiB", (_name, before, after) => {
    // Quadratic time would be hours.
    const patch = diff(before, after);
    expect(Buffer.compare(apply(before, patch), after)).toBe(0);
  });
});
