import { InvalidAddressError, type TierSaver } from "@stratigraph/core";
import { promote as moveTo, type AlsoMoved } from "@stratigraph/core/internal";
import type { Address } from "@stratigraph/core/tier";
import { checkPoint } from "./checkPoint.ts";
import { checkSaver } from "./checkSaver.ts";
import { headMoved } from "./headMoved.ts";
import { readPoint, type Point } from "./readPoint.ts";
import { dropMove, nextReflog, readReflog, type Move, type ReadReflog } from "./reflog.ts";

/** A head that was moved. */
export interface Promoted extends Address {
  /** The head before; undefined if there was none. */
  readonly from: string | undefined;
}

/**
 * Makes a checkpoint the head of its namespace, for example the tip of a side branch or an old checkpoint. If its step has continued
 * since, the step is rewound: interrupts that were answered wait for an answer again, and tasks that had ended by the time of the
 * interrupt don't run again. Later checkpoints can still be read by their ids, so nothing is lost. The move is recorded, and
 * {@link undo} reverts it.
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

/** Moves a head and records the move, in one append, if the head is still `from`. */
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
    /** Heads of subgraphs that are moved back along with it. */
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
    // If a head can't be moved to a stored checkpoint, the tier writes the other parts of the append nevertheless, so remove the record
    // of the move.
    if (recorded !== undefined) await dropMove(saver, at.threadId, recorded, before);
    const what = { promote: "The promotion", undo: "Undoing", "fast-forward": "The merge" }[kind];
    throw headMoved(error, what, at, from);
  }
  return { ...at, from };
}
