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
   * Tests of optional parts (`setup`, `reopen`, `ancestry`, `copyThread`, `adopt`, `lease`) fail where the tier doesn't have them, instead
   * of being skipped. Default false.
   */
  readonly skipNothing?: boolean;
}
