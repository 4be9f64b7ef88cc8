import { blobClosure, missingBlob, namedBlobs } from "../../src/contract/blobClosure.ts";
import type { BlobInfo } from "../../src/contract/tier.ts";

function blobsOf(...bases: readonly (readonly [hash: string, base?: string])[]): Map<string, BlobInfo> {
  return new Map(bases.map(([hash, base]) => [hash, { hash, base, size: 1 }]));
}

test("names blobs of a record and of pending writes once", () => {
  expect([...namedBlobs({ blobs: ["a", "b"] }, [{ blobs: ["b", "c"] }])]).toEqual(["a", "b", "c"]);
  expect(namedBlobs(undefined, [])).toEqual(new Set());
});

test("takes the bases along, shared ones once", () => {
  const blobs = blobsOf(["whole"], ["a", "whole"], ["b", "a"], ["c", "a"], ["other"]);
  expect([...blobClosure(["b", "c"], blobs)!.keys()].sort()).toEqual(["a", "b", "c", "whole"]);
  expect(missingBlob(["b", "c"], blobs)).toBeUndefined();
});

test("tells which blob is missing", () => {
  const blobs = blobsOf(["a", "gone"]);
  expect(blobClosure(["a"], blobs)).toBeUndefined();
  expect(missingBlob(["a"], blobs)).toBe("gone");
});

test("ends on patches that form a circle, and takes them for missing", () => {
  for (const blobs of [blobsOf(["a", "a"]), blobsOf(["a", "b"], ["b", "c"], ["c", "b"])]) {
    expect(blobClosure(["a"], blobs)).toBeUndefined();
    expect(missingBlob(["a"], blobs)).toBeDefined();
  }
});
