import { packsToMerge } from "../src/packsToMerge.ts";
import type { PackRef } from "../src/packFile.ts";

const kb = 1024;
const pack = (size: number): PackRef => ({ key: `pack of ${size}`, size, catalog: [0, 0, 0, ""] });

test.each<
  [string, sizes: number[], tail: number, rewrite: "all" | "open" | undefined, merged: number[] | undefined]
>([
  ["what is small stays in the head", [], 60 * kb, undefined, undefined],
  ["the first pack", [], 70 * kb, undefined, []],
  ["a large pack is left alone", [1000 * kb], 70 * kb, undefined, []],
  ["a pack that isn't much larger is merged", [200 * kb], 70 * kb, undefined, [200 * kb]],
  ["the small pack grows", [1000 * kb, 100 * kb], 70 * kb, undefined, [100 * kb]],
  ["until both become one", [1000 * kb, 200 * kb], 70 * kb, undefined, [1000 * kb, 200 * kb]],
  ["a sealed pack is never merged", [70_000 * kb, 200 * kb], 70 * kb, undefined, [200 * kb]],
  ["an import leaves one pack", [1000 * kb, 10 * kb], 1, "open", [1000 * kb, 10 * kb]],
  ["beside the sealed ones", [70_000 * kb, 10 * kb], 1, "open", [10 * kb]],
  [
    "a part of a large import is merged with one before",
    [9000 * kb, 7000 * kb],
    8000 * kb,
    "open",
    [7000 * kb],
  ],
  ["or none", [16_000 * kb, 16_000 * kb], 8000 * kb, "open", []],
  [
    "what comes after it, with the last two at most",
    [16_000 * kb, 16_000 * kb, 5000 * kb],
    70 * kb,
    undefined,
    [16_000 * kb, 5000 * kb],
  ],
  ["bytes that go, go from all", [70_000 * kb, 10 * kb], 0, "all", [70_000 * kb, 10 * kb]],
])("%s", (_name, sizes, tail, rewrite, merged) => {
  expect(packsToMerge(sizes.map(pack), tail, rewrite)).toEqual(merged?.map(pack));
});
