import { describe, expect, it } from "vitest";
import { contentHash, deriveHashKey } from "../../src/codec/index.ts";

const abc = new TextEncoder().encode("abc");

describe("contentHash", () => {
  it("is SHA-256 cut to 20 bytes", () => {
    expect(contentHash(abc)).toBe("ba7816bf8f01cfea414140de5dae2223b00361a3");
  });

  it("is the same however the content is cut", () => {
    expect(contentHash([abc.subarray(0, 1), abc.subarray(1), new Uint8Array(0)])).toBe(contentHash(abc));
  });

  it("depends on the key, and the key on its secret", () => {
    const one = deriveHashKey(new Uint8Array(32));
    const two = deriveHashKey(new Uint8Array(32).fill(1));
    expect(one).toHaveLength(32);
    // Stored hashes depend on these bytes for ever.
    expect(contentHash(abc, one)).toMatchInlineSnapshot(`"27a859ce00d68354fccd55d882715ca9dae19872"`);
    expect(new Set([contentHash(abc), contentHash(abc, one), contentHash(abc, two)]).size).toBe(3);
    expect(contentHash(abc, deriveHashKey(new Uint8Array(32)))).toBe(contentHash(abc, one));
  });
});
