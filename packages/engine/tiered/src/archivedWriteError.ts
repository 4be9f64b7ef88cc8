import { EvictedError } from "@stratigraph/core";
import type { AppendRequest, AppendWritesRequest } from "@stratigraph/core/tier";

/** The error for a write to an archived thread with `restoreOn: "never"`. */
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
