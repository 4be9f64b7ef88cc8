import { randomBytes } from "node:crypto";

/** Begins the task id of a batch that no task wrote: a mark among the pending writes of a checkpoint. */
const prefix = "__stratigraph_rewound__";

/**
 * What is said where a checkpoint becomes the head again whose step went on since. What was written under it before stays
 * stored, for the checkpoints that were made from it; for whoever goes on from the checkpoint now, only what is named here
 * counts, and what comes after. It stands in the task id, so that it is read without decoding anything.
 */
export interface RewindMark {
  /** Tells marks apart: an archiver takes batches of the same bytes for one. */
  readonly id: string;
  /** Checkpoints that were made from what counted before the mark. */
  readonly made: readonly string[];
  /** Digests of the batches that counted before it. */
  readonly before: readonly string[];
  /** Digests of the batches from before it that count after it. */
  readonly keep: readonly string[];
  /** Winding back leads to what counted before this mark: a fast-forward brought what counts after it. */
  readonly undoable?: boolean | undefined;
}

/** A task id that carries a new mark. Short, as ids of over 512 bytes cost PostgreSQL a look-up. */
export function rewindTask(mark: Omit<RewindMark, "id">): string {
  return prefix + JSON.stringify({ id: randomBytes(6).toString("base64url"), ...mark });
}

/** The mark that a batch's task id carries; undefined for a task's. */
export function rewindMark(taskId: string): RewindMark | undefined {
  return taskId.startsWith(prefix) ? (JSON.parse(taskId.slice(prefix.length)) as RewindMark) : undefined;
}
