import { NotFoundError, StratigraphError, type TierSaver } from "@stratigraph/core";
import { checkThread } from "./checkPoint.ts";
import { checkSaver } from "./checkSaver.ts";
import type { ThreadRef } from "./readPoint.ts";
import { moveHead, type Promoted } from "./promote.ts";
import { readReflog } from "./reflog.ts";

/**
 * Reverts the last recorded move of a thread's head (a merge, a promotion, an edit or an undo). The head returns to where it was, and what was
 * due there is due again: an interrupt that the merged work had answered waits for an answer. Undoing twice restores the move. What the
 * move made can still be read, as a side branch.
 * @returns the checkpoint that is the head again, and the head before
 * @throws NotFoundError if no move is recorded; StratigraphError "MERGE_REFUSED" if the thread has continued since, so that the undo
 * would also drop newer work from the main line (promote an old checkpoint to do that on purpose);
 * CheckpointConflictError if the head moves meanwhile; InvalidOptionError, InvalidAddressError
 */
export async function undo(saver: TierSaver, thread: ThreadRef): Promise<Promoted> {
  checkSaver("undo", saver);
  const threadId = checkThread("thread", thread);
  const before = await readReflog(saver, threadId);
  const last = before.moves.at(-1);
  if (last?.from === undefined) {
    throw new NotFoundError(
      `Thread ${JSON.stringify(threadId)} has no recorded move to undo. promote() makes any earlier checkpoint the head.`,
      { threadId },
    );
  }
  const { head } = await saver.tier.peek({ threadId, namespace: last.namespace });
  if (head !== last.to) {
    throw new StratigraphError(
      "MERGE_REFUSED",
      `Thread ${JSON.stringify(threadId)} went on to ${head} since its last ${last.kind} (${last.to}); undoing it would take the newer work along. ` +
        `promote() the checkpoint ${last.from} to do that on purpose.`,
      { threadId, head, move: last },
    );
  }
  const at = { threadId, namespace: last.namespace, checkpointId: last.from };
  return await moveHead(saver, at, { kind: "undo", from: last.to, before, subgraphs: last.subgraphs });
}
