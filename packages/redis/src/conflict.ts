import { CheckpointConflictError, type AppendRequest } from "@stratigraph/core";
import { decodeId } from "./ids.ts";

/** The error of a request whose head move number `lost` may not be; `head` as the script tells it. */
export function conflict(request: AppendRequest, lost: number, head: Buffer): CheckpointConflictError {
  const { namespace, to, expected } = request.heads[lost]!;
  const parentId = request.records.find(
    (record) => record.checkpointId === to && record.namespace === namespace,
  )?.parentId;
  return new CheckpointConflictError({
    threadId: request.threadId,
    namespace,
    checkpointId: to,
    parentId,
    head: decodeId(head),
    expected: expected === "any" ? [] : expected,
  });
}
