import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import { runChild } from "../../../../../test/servers/children.ts";
import { freshDatabase, type FreshDatabase } from "../../../../../test/servers/shared.ts";
import type { LargeReport } from "./largeChild.ts";

const script = fileURLToPath(new URL("largeChild.ts", import.meta.url));
const MB = 1_000_000;
let database: FreshDatabase;

beforeAll(async () => {
  database = await freshDatabase();
});

afterAll(() => database.drop());

test.each([
  ["memory", 5],
  ["PostgreSQL", 5],
  ["memory", 50],
  ["PostgreSQL", 50],
] as const)("%s holds a state of %i MB, and appends to it", async (where, size) => {
  const url = where === "memory" ? "memory" : database.url;
  const child = runChild<LargeReport>(script, [url, String(size * MB)]);
  const report = await child.message((message) => "same" in message);
  await child.exit;
  expect(report.same).toBe(true);
  const [small, large] = [...report.stored].sort((a, b) => a - b);
  expect(report.stored).toHaveLength(2);
  // Hex digits hold half a byte each.
  expect(large).toBeLessThan(0.6 * size * MB);
  expect(small).toBeLessThan(1000);
  // A put and a read hold the value, its bytes, payload, frame and compressed bytes at once, some of them several times.
  expect(report.peak - report.start).toBeLessThan(100 * MB + 16 * size * MB);
  process.stdout.write(`${where}, ${size} MB: ${JSON.stringify(report)}\n`);
});
