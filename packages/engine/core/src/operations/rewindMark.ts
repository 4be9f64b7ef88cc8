import { randomBytes } from "node:crypto";

/** The beginning of the task id of a batch that is a rewind mark. No task wrote such a batch. */
const prefix = "__stratigraph_rewound__";

/**
 * Added to the pending writes of a checkpoint that becomes the head again after checkpoints were made from it. The batches
 * before the mark stay stored, for the sake of those checkpoints. For a run that goes on from the checkpoint now, only the
 * batches count that the mark says to keep, and those after it. The mark is in the batch's task id, so that it can be read
 * without decoding anything.
 */
export interface RewindMark {
  /** Makes every mark unique, because archiving treats batches with the same bytes as one. */
  readonly id: string;
  /** Checkpoints that were made from the batches that counted before the mark. */
  readonly made: readonly string[];
  /** Digests of the batches that counted before it. */
  readonly before: readonly string[];
  /** Digests of the batches from before it that count after it. */
  readonly keep: readonly string[];
  /** True for the mark of a fast-forward, which brought the batches that count after it. Winding back restores those before it. */
  readonly undoable?: boolean | undefined;
}

/** A task id that carries a new mark. Ids and digests are short, because a task id of over 512 bytes costs PostgreSQL a look-up. */
export function rewindTask(mark: Omit<RewindMark, "id">): string {
  return prefix + JSON.stringify({ id: randomBytes(6).toString("base64url"), ...mark });
}

/** The mark that a batch's task id carries; undefined for the id of a task. */
export function rewindMark(taskId: string): RewindMark | undefined {
  return taskId.startsWith(prefix) ? (JSON.parse(taskId.slice(prefix.length)) as RewindMark) : undefined;
}
