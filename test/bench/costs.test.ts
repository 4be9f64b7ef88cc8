import { readFileSync } from "node:fs";
import { costFiguresIn, costFiguresOf, costLines, costsDocument, type CostFigures } from "./costs.ts";

const figures: CostFigures = {
  threads: 10,
  checkpoints: 400,
  warmBytes: 800_000,
  coldBytes: 80_000,
  redisBytes: 400_000,
  puts: 20,
  gets: 30,
  resumeRequests: 2,
};

test("docs/costs.md is what its own figures and prices make", () => {
  const document = readFileSync(new URL("../../docs/costs.md", import.meta.url), "utf8");
  expect(document).toBe(costsDocument(costFiguresIn(document)));
});

test("the arithmetic, by hand", () => {
  const lines = costLines(figures);
  // 2,000 B × 1,000,000 = 2 GB; 200 B: 0.2 GB; 25,000 threads with 2 PUT and 3 GET each.
  expect(lines.postgres.usd).toBeCloseTo(2 * 0.115, 10);
  expect(lines.s3.usd).toBeCloseTo(0.2 * 0.023, 10);
  expect(lines.redis.usd).toBeCloseTo((1 * 0.219 * 730) / (13.07 * 1.073741824), 10);
  expect(lines.moving.usd).toBeCloseTo((25_000 * 2 * 0.005 + 25_000 * 3 * 0.0004) / 1000, 10);
  expect(lines.resuming.usd).toBeCloseTo((25_000 * 2 * 0.0004) / 1000, 10);
});

test("a bench that didn't measure a figure makes no document", () => {
  const measured = new Map<string, number>(
    Object.entries(figures).map(([name, value]) => [`archive.many.${name}`, value]),
  );
  measured.set("archive.redisBytes", figures.redisBytes);
  expect(costFiguresOf(measured)).toBeUndefined();
  measured.set("archive.resume.requests", figures.resumeRequests);
  expect(costFiguresOf(measured)).toEqual(figures);
});
