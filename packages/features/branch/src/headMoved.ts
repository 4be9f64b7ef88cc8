import { CheckpointConflictError, StratigraphError } from "@stratigraph/core";
import { isReserved, reservedNamespaces, type Address } from "@stratigraph/core/tier";

/**
 * Turns a tier's conflict error, whose message is about putting a checkpoint, into one which says that the head moved meanwhile.
 * Returns other errors unchanged.
 *
 * @param what what was refused, such as "The merge"
 * @param at the checkpoint that was to become the head
 */
export function headMoved(error: unknown, what: string, at: Address, from: string | undefined): unknown {
  if (!StratigraphError.is(error, "CHECKPOINT_CONFLICT")) return error;
  const { namespace, head } = error.data as { namespace: string; head: string };
  const thread = `thread ${JSON.stringify(at.threadId)}`;
  // The reflog has a head of its own. A conflict there means that another move of this thread came first.
  const happened = !isReserved(namespace)
    ? `${thread} went on to ${head} meanwhile, from ${from ?? "nothing"}`
    : namespace === reservedNamespaces.calls
      ? `${thread} recorded a tool call meanwhile`
      : `another merge, promotion or undo of ${thread} came first`;
  const data = { ...at, head, expected: from === undefined ? [] : [from] };
  return new CheckpointConflictError(
    data,
    `${what} was refused: ${happened}. Nothing was written, and the head stays as it is. Repeat the call to decide on what is there now.`,
  );
}
