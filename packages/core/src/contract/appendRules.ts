import { CheckpointConflictError } from "./errors.ts";
import type { AppendRequest, HeadMove } from "./tier.ts";

/** Whether an append continues what must be there already, rather than beginning a thread or importing one. */
export function goesOn({ records, heads }: AppendRequest): boolean {
  return (
    records.every(({ parentId }) => parentId !== undefined) &&
    heads.every(({ expected }) => expected !== "any")
  );
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
