import { MemoryTier, TierSaver } from "@stratigraph/core";
import { expect, test } from "vitest";
import { collectGarbage } from "../../../../../test/collected.ts";
import { remembering } from "../../src/saver/remembering.ts";

test("a saver takes memory as it is used: one can be opened for every request", () => {
  const tier = new MemoryTier();
  const used = (): number => {
    collectGarbage();
    const { heapUsed, arrayBuffers } = process.memoryUsage();
    return heapUsed + arrayBuffers;
  };
  const before = used();
  const savers = Array.from({ length: 200 }, () => new TierSaver(tier));
  expect((used() - before) / savers.length).toBeLessThan(100_000);
});

test("the entry used longest ago is forgotten, and that is told", () => {
  const told: string[] = [];
  const entries = remembering<number>(2, (key) => told.push(key));
  entries.set("a", 1).set("b", 2).set("b", 3);
  expect(entries.get("a")).toBe(1);
  entries.set("c", 4);
  expect([...entries.keys()].toSorted()).toEqual(["a", "c"]);
  entries.delete("a");
  // What was taken away or replaced wasn't forgotten.
  expect(told).toEqual(["b"]);
});
