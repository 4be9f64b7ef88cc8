import { CheckpointConflictError } from "./errors.ts";
import type { AppendRequest, AppendWritesRequest, BlobHash, HeadMove } from "./tier.ts";

/**
 * Whether an append continues what must be there already, rather than beginning a thread or importing one. An import appends checkpoints in
 * parts that move no head. Once all are there, it moves the root's head, if there is none.
 */
export function goesOn({ records, heads }: AppendRequest): boolean {
  if (records.length === 0)
    return heads.every(
      ({ namespace, expected }) => expected !== "any" && (namespace !== "" || expected.length > 0),
    );
  return (
    heads.length > 0 &&
    records.every(({ parentId }) => parentId !== undefined) &&
    heads.every(({ expected }) => expected !== "any")
  );
}

/** The blobs that a write refers to, by name or as bases of patches, and doesn't carry: it relies on their being stored. */
export function neededBlobs(request: AppendRequest | AppendWritesRequest): Set<BlobHash> {
  const isAppend = "records" in request;
  const brought = isAppend ? request.blobs : request.newBlobs;
  const naming = isAppend ? [...request.records, ...(request.writes ?? [])] : [request];
  const needed = new Set(naming.flatMap(({ blobs }) => blobs));
  for (const { base } of brought) if (base !== undefined) needed.add(base);
  for (const { hash } of brought) needed.delete(hash);
  return needed;
}

/** The error of a request whose head may not move, because it stands at `head`. */
export function conflictOf(request: AppendRequest, move: HeadMove, head: string): CheckpointConflictError {
  const { namespace, to, expected } = move;
  const record = request.records.find((each) => each.checkpointId === to && each.namespace === namespace);
  return new CheckpointConflictError({
    threadId: request.threadId,
    namespace,
    checkpointId: to,
    parentId: record?.parentId,
    head,
    expected: expected === "any" ? [] : expected,
  });
}
