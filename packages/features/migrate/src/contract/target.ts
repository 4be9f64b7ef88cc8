import type { SourceCheckpoint, SourceThread } from "./source.ts";

/** The result of writing a thread. */
export interface WrittenThread {
  readonly checkpoints: number;
  readonly writes: number;
  /** Checkpoints that the target already had. */
  readonly skipped: number;
  /** Checkpoints that the target can't hold without mixing them up: side branches, and checkpoints after the head. */
  readonly leftOut: number;
  /** What else of the thread the target can't hold, such as its calls, in words with counts. Absent: it holds everything. */
  readonly notHeld?: readonly string[] | undefined;
  /** How many entries of its journal lost values there, as the source had erased them since. Absent: none. */
  readonly erased?: number | undefined;
  /** How the stored copy differs from what was written; empty if all is well. */
  readonly differences: readonly string[];
}

/** A place that threads are exported to and that isn't a Stratigraph storage. */
export interface ThreadTarget {
  /** The name for messages, without secrets. */
  readonly name: string;
  /**
   * Whether an export may end early and continue later. False for a target that is written as a whole, such as a file: an unfinished
   * export leaves nothing behind.
   */
  readonly resumable: boolean;
  /** Writes a thread. What the target already has stays unchanged, so that an export may be repeated. */
  write(thread: SourceThread, options: WriteOptions): Promise<WrittenThread>;
  /** Completes what was written. Not called when an export fails or is interrupted. */
  finish(): Promise<void>;
  /** Closes what was opened here. May be called again. */
  close(): Promise<void>;
}

/** How a thread is written. */
export interface WriteOptions {
  /** Whether everything is read back and compared. */
  readonly verify: boolean;
  /** Called after each checkpoint. */
  wrote(checkpoint: SourceCheckpoint): void;
}
