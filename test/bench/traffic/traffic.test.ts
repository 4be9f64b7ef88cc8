import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { takenByFixed } from "./fixedFrontier.ts";
import { generateTrace, type TraceShape } from "./generateTrace.ts";
import { readTrace } from "./trace.ts";

const turns: TraceShape["turns"] = [
  [
    [
      { use: "read", bytes: 0 },
      { use: "write", bytes: 1_000 },
      { use: "write", bytes: 500 },
    ],
  ],
];
const shape: TraceShape = { turns, threads: 200, days: 20, seed: 3 };

test("a trace is in order, the same for the same seed, and most of its threads have one session", () => {
  const trace = generateTrace(shape);
  expect(generateTrace(shape)).toEqual(trace);
  expect(generateTrace({ ...shape, seed: 4 })).not.toEqual(trace);
  const spans = new Map<string, number[]>();
  for (const [n, { thread, atMs }] of trace.entries()) {
    expect(atMs).toBeGreaterThanOrEqual(trace[n - 1]?.atMs ?? 0);
    spans.set(thread, [...(spans.get(thread) ?? []), atMs]);
  }
  const short = [...spans.values()].filter((times) => times.at(-1)! - times[0]! < 4 * 3_600_000);
  expect(short.length / spans.size).toBeGreaterThan(0.55);
  expect(short.length / spans.size).toBeLessThan(0.85);
});

test("a scan reads once what began before it", () => {
  const trace = generateTrace({ ...shape, scanEveryDays: 7 });
  const scans = trace.filter(({ scan }) => scan === true);
  expect(scans.length).toBeGreaterThan(200);
  expect(trace.length - scans.length).toBe(generateTrace(shape).length);
  for (const { thread, atMs } of scans.slice(0, 20))
    expect(trace.find((use) => use.thread === thread)!.atMs).toBeLessThan(atMs);
});

test("a trace of one's own is read from a file, and a line that is none is named", () => {
  const folder = mkdtempSync(join(tmpdir(), "stratigraph-trace-"));
  const file = join(folder, "trace.jsonl");
  try {
    const uses = generateTrace({ ...shape, threads: 3 });
    writeFileSync(file, uses.map((use) => `${JSON.stringify(use)}\n`).join(""));
    expect(readTrace(file)).toEqual(uses);
    writeFileSync(
      file,
      `{"atMs":5,"thread":"a","use":"read","bytes":0}\n{"atMs":4,"thread":"a","use":"read","bytes":0}\n`,
    );
    expect(() => readTrace(file)).toThrow(/line 2/);
    writeFileSync(file, `{"atMs":5,"thread":"a","use":"seen","bytes":0}\n`);
    expect(() => readTrace(file)).toThrow(/line 1/);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test("what a fixed ttl with as many hits takes lies between two measured ones", () => {
  const fixed = [
    { hits: 10, megabyteHours: 1 },
    { hits: 20, megabyteHours: 4 },
  ];
  expect(takenByFixed(fixed, 15)).toBeCloseTo(2);
  expect(takenByFixed(fixed, 20)).toBe(4);
  expect(takenByFixed(fixed, 9)).toBeUndefined();
  expect(takenByFixed(fixed, 21)).toBeUndefined();
});
