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
  | "lease"
  | "deleteUnchanged"
  | "sweep"
  | "tombstones"
  | "strays"
  | "inspect"
  | "leftovers"
  | "dropLeftover"
  | "replaceBytes"
  | "tagThread"
  | "untagThread"
  | "threadTags";

/** One call that reached a FaultyTier. */
export interface TierCall {
  readonly method: TierMethod;
  readonly args: readonly unknown[];
  /**
   * "running", then "returned", or: "refused" (a planned fault, the tier behind was not called), "unacknowledged" (it was
   * called and answered, the caller got an error), "failed" (the tier behind threw by itself), "stopped" (the consumer ended
   * an iteration early).
   */
  outcome: "running" | "returned" | "refused" | "unacknowledged" | "failed" | "stopped";
}
