import { shardOf } from "../../src/shards/shardOf.ts";

const ids = Array.from({ length: 20_000 }, (_, n) => `thread ${n}`);

test("a thread's shard never changes: what is stored depends on it", () => {
  const known = ["", "ada", "user-17", "6f1c0d5e-8f0a-4c5e-9a53-0f6d2c1b7e11", "日本語", "😀", "a\0b"];
  expect(known.map((id) => shardOf(id, 4))).toEqual([3, 0, 0, 1, 3, 0, 1]);
  expect(known.map((id) => shardOf(id, 7))).toEqual([3, 0, 6, 1, 4, 0, 4]);
});

test.each([2, 3, 4, 16])("threads are spread evenly over %i shards", (shards) => {
  const counts = Array<number>(shards).fill(0);
  for (const id of ids) counts[shardOf(id, shards)]! += 1;
  const fair = ids.length / shards;
  for (const count of counts) expect(Math.abs(count - fair)).toBeLessThan(4.5 * Math.sqrt(fair));
});

test("one shard more takes its share from all, and moves nothing else", () => {
  let moved = 0;
  for (const id of ids) {
    const [before, after] = [shardOf(id, 4), shardOf(id, 5)];
    if (before === after) continue;
    moved += 1;
    expect(after).toBe(4);
  }
  expect(moved / ids.length).toBeCloseTo(1 / 5, 1);
});
