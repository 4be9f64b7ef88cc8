import { createHash } from "node:crypto";
import type { AppendRequest, Blob } from "@stratigraph/core/tier";

/** Bytes that don't compress and are the same in every process. */
export function noise(size: number, seed: string): Uint8Array {
  const parts: Buffer[] = [];
  for (let n = 0; n * 32 < size; n += 1) parts.push(createHash("sha256").update(`${seed} ${n}`).digest());
  return Buffer.concat(parts).subarray(0, size);
}

/** An append of one checkpoint with one blob of `size` bytes. */
export function put(threadId: string, id: string, parentId: string | undefined, size: number): AppendRequest {
  const bytes = noise(size, `${id} of ${threadId}`);
  const blob: Blob = { hash: createHash("sha256").update(bytes).digest("hex").slice(0, 40), bytes };
  return {
    threadId,
    records: [
      {
        threadId,
        namespace: "",
        checkpointId: id,
        parentId,
        terms: [],
        blobs: [blob.hash],
        body: Buffer.from(id),
      },
    ],
    blobs: [blob],
    heads: [{ namespace: "", to: id, expected: parentId === undefined ? [] : [parentId] }],
    onConflict: "refuse",
  };
}
