/** Every method of a tier, optional ones included. */
export type TierMethod =
  | "peek"
  | "read"
  | "list"
  | "threads"
  | "blobs"
  | "append"
  | "appendWrites"
  | "remove"
  | "evict"
  | "deleteThread"
  | "setup"
  | "ping"
  | "end"
  | "ancestry"
  | "copyThread"
  | "outline"
  | "forkThread"
  | "adopt"
  | "invalidate"
  | "keyChecks"
  | "claimKeyCheck"
  | "someThreads"
  | "lease"
  | "lock"
  | "unlock"
  | "deleteUnchanged"
  | "diagnose"
  | "sweep"
  | "tombstones"
  | "strays"
  | "inspect"
  | "mendThread"
  | "leftovers"
  | "dropLeftover"
  | "reviveLeftover"
  | "replaceBytes"
  | "tagThread"
  | "untagThread"
  | "threadTags";

/** One call that reached a FaultyTier. */
export interface TierCall {
  readonly method: TierMethod;
  readonly args: readonly unknown[];
  /**
   * First "running". In the end: "returned", "refused" (it failed as planned, without reaching the wrapped tier), "unacknowledged" (the
   * wrapped tier did it, but the caller got an error), "failed" (the wrapped tier threw by itself), or "stopped" (the consumer ended an
   * iteration early).
   */
  outcome: "running" | "returned" | "refused" | "unacknowledged" | "failed" | "stopped";
}
