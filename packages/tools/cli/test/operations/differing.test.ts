import { MemorySaver } from "@stratigraph/core";
import type { CutRecord, DifferingText, OutputOf } from "../../src/operations/index.ts";
import { expect, test } from "vitest";
import { ran } from "./support/ran.ts";
import { putValues } from "./support/threads.ts";

type Sides = { readonly before: DifferingText; readonly after: DifferingText };

async function changed(before: unknown, after: unknown, maxBytes = 2000) {
  const saver = new MemorySaver();
  await putValues(saver, "ada", { text: before });
  await putValues(saver, "ada", { text: after });
  const { output, text } = await ran<OutputOf<"diff">>("diff", { from: "ada", maxBytes }, saver);
  return { sides: output.channels[0]!.changes[0]! as unknown as Sides, text };
}

test("when two long texts differ only far from their start, the differing part is shown", async () => {
  const start = "🐢 the same words ".repeat(5000);
  const { sides, text } = await changed(`${start}an old house${start}`, `${start}a new house${start}`);
  expect(sides.before.begins).toContain("an old house");
  expect(sides.after.begins).toContain("a new house");
  expect(sides.before.skips).toBe(sides.after.skips);
  expect(sides.before.skips).toBeGreaterThan(start.length - 250);
  for (const { begins } of [sides.before, sides.after]) expect(begins!.isWellFormed()).toBe(true);
  expect(JSON.stringify(sides).length).toBeLessThan(4000);
  expect(text).toContain("an old house");
  expect(text).toContain("a new house");
});

test("the same holds for a text inside a value, and if one side is too short to be cut", async () => {
  const start = "the same words ".repeat(200);
  const inside = await changed(
    [{ id: "m", said: `${start}old${"x".repeat(50_000)}`, by: "ada" }],
    [{ id: "m", said: `${start}new`, by: "ada" }],
    4000,
  );
  const { before, after } = inside.sides as unknown as Record<"before" | "after", { said: DifferingText }>;
  expect(before.said.begins).toMatch(/words oldx/);
  expect(after.said).toMatchObject({ begins: expect.stringMatching(/words new$/) as string });
  expect(after.said.skips).toBe(before.said.skips);
});

test("a text that differs where it is shown is cut as ever", async () => {
  const { sides } = await changed(`old${"x".repeat(50_000)}`, `new${"x".repeat(50_000)}`);
  expect(sides.before).not.toHaveProperty("skips");
  expect((sides.before as CutRecord).begins).toMatch(/^old/);
  expect((sides.after as CutRecord).begins).toMatch(/^new/);
});
