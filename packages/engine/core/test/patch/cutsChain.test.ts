import { describe, expect, it } from "vitest";
import { cutsChain, MAX_CHAIN_DEPTH } from "../../src/patch/index.ts";

describe("cutsChain", () => {
  it.each([
    ["the first patch", { depth: 0, wholeBytes: 10_000, patchBytes: 500, chainBytes: 0 }, false],
    [
      "the last patch allowed",
      { depth: MAX_CHAIN_DEPTH - 1, wholeBytes: 10_000, patchBytes: 50, chainBytes: 9_000 },
      false,
    ],
    [
      "one patch too many",
      { depth: MAX_CHAIN_DEPTH, wholeBytes: 10_000, patchBytes: 50, chainBytes: 9_000 },
      true,
    ],
    [
      "a patch just smaller than the whole",
      { depth: 0, wholeBytes: 500, patchBytes: 499, chainBytes: 0 },
      false,
    ],
    ["a patch as large as the whole", { depth: 0, wholeBytes: 500, patchBytes: 500, chainBytes: 0 }, true],
    ["an empty value", { depth: 0, wholeBytes: 0, patchBytes: 0, chainBytes: 0 }, true],
    [
      "patches that add up to the bound",
      { depth: 9, wholeBytes: 1000, patchBytes: 500, chainBytes: 1500 },
      false,
    ],
    ["patches that add up to more", { depth: 9, wholeBytes: 1000, patchBytes: 501, chainBytes: 1500 }, true],
  ])("%s", (_name, state, expected) => {
    expect(cutsChain(state)).toBe(expected);
  });
});
