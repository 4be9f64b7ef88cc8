import { createHash } from "node:crypto";
import type { AppendRequest, AppendWritesRequest, Blob } from "@stratigraph/core/tier";

/** A blob named by its content. */
export function blobOf(content: string | Uint8Array): Blob {
  const bytes = Buffer.from(content);
  return { hash: createHash("sha256").update(bytes).digest("hex").slice(0, 40), bytes };
}

/** The append of one checkpoint with one blob, which goes on from `parentId`. */
export function appendOf(
  threadId: string,
  checkpointId: string,
  parentId?: string,
  parts: Partial<AppendRequest> & { content?: string | Uint8Array } = {},
): AppendRequest {
  const { content = `value of ${checkpointId}`, ...rest } = parts;
  const blob = blobOf(content);
  const body = Buffer.from(`body of ${checkpointId}`);
  const expected = parentId === undefined ? [] : [parentId];
  return {
    threadId,
    records: [{ threadId, namespace: "", checkpointId, parentId, terms: [1, -2], blobs: [blob.hash], body }],
    blobs: [blob],
    heads: [{ namespace: "", to: checkpointId, expected }],
    onConflict: "refuse",
    ...rest,
  };
}

/** The pending writes of one task. */
export function writesOf(threadId: string, checkpointId: string, taskId: string): AppendWritesRequest {
  const body = Buffer.from(`writes of ${taskId}`);
  return { threadId, namespace: "", checkpointId, taskId, blobs: [], body, newBlobs: [] };
}
