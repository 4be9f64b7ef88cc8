import type { Tier } from "@stratigraph/core";

/** A tier that is open. */
export interface OpenedTier {
  /** The tier under test, ready to use. Its storage belongs to this suite alone. */
  readonly tier: Tier;
  /** Opens the same storage once more, as another process would. Absent where that can't be. */
  readonly reopen?: () => Promise<Tier>;
  /** Ends the suite: closes tiers and clients, removes the storage. */
  close(): Promise<void>;
}

/** Options of `testTier`. */
export interface TierSuiteOptions {
  /** Longest id that the tier takes, in UTF-8 bytes; it refuses longer ones. Default: 10,000 and more are taken. */
  readonly maxIdBytes?: number;
  /**
   * Tests of `setup`, `ping`, `reopen`, `ancestry` and `copyThread` fail where the tier doesn't have them, instead of being
   * skipped. Default false.
   */
  readonly skipNothing?: boolean;
  /** Parts that the tier must have, besides those of `skipNothing`. Default: none; their tests are skipped where they lack. */
  readonly requires?: readonly TierPart[];
}

/** A part that a tier may have or not. */
export type TierPart =
  | "setup"
  | "ping"
  | "reopen"
  | "ancestry"
  | "copyThread"
  | "forkThread"
  | "copies"
  | "leases"
  | "deleteUnchanged"
  | "archiveSource"
  | "inspect"
  | "replaceBytes"
  | "tags";
