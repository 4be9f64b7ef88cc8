import type { KeptError } from "../log/entry.ts";

/** A call that was made in a transaction and may have changed something outside. */
export interface TransactionCall {
  readonly fingerprint: string;
  readonly tool: string;
  /** Undefined if they were erased. */
  readonly args: unknown;
}

/** A call whose effect stays, or may stay. */
export interface KeptCall extends TransactionCall {
  /**
   * "no compensation": the tool has no `compensate`; "outcome unknown": nobody knows whether the call happened, `journal.unresolved()`
   * lists it; "compensation failed": `error` says why, and it may be unknown whether the call was undone.
   */
  readonly why: "no compensation" | "outcome unknown" | "compensation failed";
  readonly error?: KeptError | undefined;
}

/** What a rollback did with the calls of a transaction. */
export interface RollbackReport {
  /** The calls that were undone, in the order of undoing: last one first. */
  readonly undone: readonly TransactionCall[];
  /** The calls that aren't undone. */
  readonly kept: readonly KeptCall[];
}
