import type { SourceCheckpoint, SourceThread } from "./source.ts";

/** What a target did with a thread. */
export interface WrittenThread {
  readonly checkpoints: number;
  readonly writes: number;
  /** Checkpoints that were there already. */
  readonly skipped: number;
  /** Checkpoints that the target can't hold without mixing them up: side branches, and what lies after the head. */
  readonly leftOut: number;
  /** What the target has instead, where it isn't what was written; empty where all is well. */
  readonly differences: readonly string[];
}

/** Where threads go that leave for something that isn't a storage of ours. */
export interface ThreadTarget {
  /** For messages, without secrets. */
  readonly name: string;
  /**
   * Whether an export may end early and go on later. False for a target that is written as a whole, such as a file: nothing is left of
   * an export that didn't finish.
   */
  readonly resumable: boolean;
  /** Writes a thread. What is there already is left alone, so that an export may be repeated. */
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
