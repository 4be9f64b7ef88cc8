import { MemorySaver } from "@stratigraph/core";
import type { ParsedValue, OutputOf } from "../../src/operations/index.ts";
import { ParsedValues } from "../../src/operations/values/parsedValues.ts";
import { expect, test } from "vitest";
import { run } from "./support/run.ts";
import { testContext } from "./support/testContext.ts";
import { putValues } from "./support/threads.ts";

type Shown = OutputOf<"show">;

const value = (bytes: number): ParsedValue => ({ type: "json", bytes, isComplete: true });

test("long values are kept, the least recently used ones are dropped, and the limit is never exceeded", () => {
  const parsed = new ParsedValues(2_000_000);
  parsed.set("short", value(1000));
  parsed.set("too long", value(2_000_001));
  expect([parsed.get("short"), parsed.get("too long")]).toEqual([undefined, undefined]);
  for (const name of ["a", "b"]) parsed.set(name, value(900_000));
  expect(parsed.get("a")).toBeDefined();
  parsed.set("c", value(900_000));
  expect(["a", "b", "c"].map((name) => parsed.get(name) !== undefined)).toEqual([true, false, true]);
  parsed.set("d", value(2_000_000));
  expect(["a", "c", "d"].map((name) => parsed.get(name) !== undefined)).toEqual([false, false, true]);
});

test("a long value is read once, and every part of it is the same as without", async () => {
  const saver = new MemorySaver();
  const rows = Array.from({ length: 20_000 }, (_, n) => ({
    sku: `s${n}`,
    secret: `of ${n}`,
    text: "x".repeat(n % 90),
  }));
  await putValues(saver, "long", { rows, note: "short" });
  await putValues(saver, "long", { rows: rows.map((row) => ({ ...row, sku: `${row.sku}'` })) });
  let reads = 0;
  const { serialized } = saver.coder;
  saver.coder.serialized = (...args) => {
    if (args[1] === "rows") reads += 1;
    return serialized.apply(saver.coder, args);
  };
  for (const redact of [[], ["rows.*.secret"]]) {
    const context = { ...testContext(saver), redact };
    const kept = { ...context, parsed: new ParsedValues() };
    const ask = async (input: object) => {
      const alone = await run<Shown>("show", input, context);
      const before = reads;
      // Twice: what was kept isn't changed by those who look at it.
      for (const _ of [1, 2]) expect(await run<Shown>("show", input, kept)).toEqual(alone);
      return reads - before;
    };
    const told = [];
    for (const at of ["long", "long@head~1"])
      for (const part of [
        {},
        { channel: "rows", path: "[19000:19100]" },
        { channel: "rows", path: "[7].sku" },
      ])
        told.push(await ask({ at, ...part }));
    expect(told).toEqual([1, 0, 0, 1, 0, 0]);
  }
});
