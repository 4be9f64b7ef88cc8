import type { KeptError } from "../log/entry.ts";

/** A call that was made in a transaction and may have changed something outside. */
export interface TransactionCall {
  readonly fingerprint: string;
  readonly tool: string;
  /** Undefined where they were erased. */
  readonly args: unknown;
}

/** A call whose effect stays, or may stay. */
export interface KeptCall extends TransactionCall {
  /**
   * "no compensation": the tool has no `compensate`; "outcome unknown": nobody knows whether the call happened, `journal.unresolved()`
   * lists it; "compensation failed": as `error` says, and nobody may know whether it was undone.
   */
  readonly why: "no compensation" | "outcome unknown" | "compensation failed";
  readonly error?: KeptError | undefined;
}

/** What a rollback did about the calls of a transaction. */
export interface RollbackReport {
  /** Last one first, as they were undone. */
  readonly undone: readonly TransactionCall[];
  /** What isn't undone. */
  readonly kept: readonly KeptCall[];
}
