import { createHash } from "node:crypto";
import type { Address, AppendRequest, Blob } from "@stratigraph/core";

/** A checkpoint of the root namespace. */
export function at(threadId: string, checkpointId: string): Address {
  return { threadId, namespace: "", checkpointId };
}

/** A whole blob of `size` bytes. */
export function blob(name: string, size = 100): Blob {
  const hash = createHash("sha256").update(name).digest("hex").slice(0, 40);
  return { hash, bytes: Buffer.alloc(size, name) };
}

/** The append of one checkpoint whose parent is the head. */
export function put(
  threadId: string,
  checkpointId: string,
  parentId?: string,
  blobs: readonly Blob[] = [],
): AppendRequest {
  const record = {
    ...at(threadId, checkpointId),
    parentId,
    tags: [],
    blobs: blobs.map(({ hash }) => hash),
    body: Buffer.from(`body of ${checkpointId}`),
  };
  const expected = parentId === undefined ? [] : [parentId];
  return {
    threadId,
    records: [record],
    blobs,
    heads: [{ namespace: "", to: checkpointId, expected }],
    onConflict: "refuse",
  };
}
