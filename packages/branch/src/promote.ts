import {
  InvalidAddressError,
  promote as moveTo,
  type Address,
  type AlsoMoved,
  type TierSaver,
} from "@stratigraph/core";
import { checkPoint } from "./checkPoint.ts";
import { checkSaver } from "./checkSaver.ts";
import { headMoved } from "./headMoved.ts";
import { readPoint, type Point } from "./readPoint.ts";
import { dropMove, nextReflog, readReflog, type Move, type ReadReflog } from "./reflog.ts";

/** A head that was moved. */
export interface Promoted extends Address {
  /** The head before; absent where there was none. */
  readonly from: string | undefined;
}

/**
 * Makes a checkpoint the head of its namespace: a side branch's tip, or an old checkpoint. Where its step went on since, it
 * is wound back: interrupts that were answered wait for an answer again, and tasks that had ended when it asked don't run
 * again. What came later stays readable under its ids, so the move loses nothing; it is recorded, and {@link undo} takes it
 * back.
 * @returns the checkpoint, now the head, and the head before
 * @throws NotFoundError; CheckpointConflictError if the head moves meanwhile; InvalidOptionError, InvalidAddressError
 */
export async function promote(
  saver: TierSaver,
  at: Point & { readonly checkpointId: string },
): Promise<Promoted> {
  checkSaver("promote", saver);
  const wanted = checkPoint("at", at);
  if (wanted.checkpointId === undefined) {
    throw new InvalidAddressError(
      "at.checkpointId",
      "nothing",
      "Name the checkpoint that is to be the head: { threadId, checkpointId }. log() shows them.",
    );
  }
  const point = await readPoint(saver, wanted);
  const before = await readReflog(saver, point.at.threadId);
  return await moveHead(saver, point.at, { kind: "promote", from: point.head, before });
}

/** Moves a head from where it was when that was decided, and records why, in one append. */
export async function moveHead(
  saver: TierSaver,
  at: Address,
  {
    kind,
    from,
    before,
    subgraphs = [],
  }: {
    kind: "promote" | "undo" | "fast-forward";
    from: string | undefined;
    before: ReadReflog;
    /** The subgraphs' heads that are taken back. */
    subgraphs?: readonly AlsoMoved[] | undefined;
  },
): Promise<Promoted> {
  if (from === at.checkpointId) return { ...at, from };
  const { tier, coder } = saver;
  const ts = new Date().toISOString();
  let recorded: string | undefined;
  try {
    await moveTo(tier, coder, at, {
      expected: from === undefined ? [] : [from],
      subgraphs: new Map(subgraphs.map((moved) => [moved.namespace, moved.from])),
      also: async (along) => {
        const more = along.length === 0 ? {} : { subgraphs: along };
        const move: Move = { kind, namespace: at.namespace, from, to: at.checkpointId, ts, ...more };
        const reflog = { lineage: before.lineage, moves: [...before.moves, move] };
        const { record, blobs, head } = await nextReflog(saver, at.threadId, before, reflog);
        recorded = record.checkpointId;
        return { records: [record], blobs, heads: [head] };
      },
    });
  } catch (error) {
    // A head that may not move to what is stored already doesn't keep the rest of the append from being written.
    if (recorded !== undefined) await dropMove(saver, at.threadId, recorded, before);
    const what = { promote: "The promotion", undo: "Undoing", "fast-forward": "The merge" }[kind];
    throw headMoved(error, what, at, from);
  }
  return { ...at, from };
}
