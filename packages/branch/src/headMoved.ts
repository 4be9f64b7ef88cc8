import { CheckpointConflictError, isReserved, StratigraphError, type Address } from "@stratigraph/core";

/**
 * The error of a move that came too late, told as what it is: the tier's own speaks of a checkpoint that was put. Other errors
 * stay as they are.
 *
 * @param what what was to happen, such as "The merge"
 * @param at what was to become the head
 */
export function headMoved(error: unknown, what: string, at: Address, from: string | undefined): unknown {
  if (!StratigraphError.is(error, "CHECKPOINT_CONFLICT")) return error;
  const { namespace, head } = error.data as { namespace: string; head: string };
  const thread = `thread ${JSON.stringify(at.threadId)}`;
  // The record of moves has a head of its own, which another move of this thread won.
  const happened = isReserved(namespace)
    ? `another merge, promotion or undo of ${thread} came first`
    : `${thread} went on to ${head} meanwhile, from ${from ?? "nothing"}`;
  const data = { ...at, head, expected: from === undefined ? [] : [from] };
  return new CheckpointConflictError(
    data,
    `${what} was refused: ${happened}. Nothing was written, and the head stays as it is. Repeat the call to decide on what is there now.`,
  );
}
