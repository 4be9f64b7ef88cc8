import { EvictedError, type AppendRequest, type AppendWritesRequest } from "@stratigraph/core";

/** The error on a write to an archived thread under `restoreOn: "never"`. */
export function archivedWriteError(tier: string, request: AppendRequest | AppendWritesRequest): EvictedError {
  const { threadId } = request;
  if (!("heads" in request)) {
    const { namespace, checkpointId } = request;
    return new EvictedError(tier, { threadId, namespace, checkpointId });
  }
  const [move] = request.heads;
  return new EvictedError(tier, {
    threadId,
    namespace: move?.namespace ?? "",
    checkpointId: move?.to ?? "(none)",
  });
}
