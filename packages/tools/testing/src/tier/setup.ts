import type { Tier } from "@stratigraph/core";

/** A tier that was opened for the suite. */
export interface OpenedTier {
  /** The tier under test, ready to use. Its storage belongs to this suite alone. */
  readonly tier: Tier;
  /** Opens the same storage once more, as another process would. Leave it out if that isn't possible. */
  readonly reopen?: () => Promise<Tier>;
  /** Ends the suite: closes tiers and clients, removes the storage. */
  close(): Promise<void>;
}

/** Options of `testTier`. */
export interface TierSuiteOptions {
  /** The longest id that the tier accepts, in UTF-8 bytes. It refuses longer ones. Default: it accepts at least 10,000. */
  readonly maxIdBytes?: number;
  /**
   * If the tier lacks `setup`, `reopen`, `ancestry` or `copyThread`, their tests fail instead of being skipped. Default false.
   */
  readonly skipNothing?: boolean;
  /** Parts that the tier must have, besides those of `skipNothing`. Default: none. Tests of other missing parts are skipped. */
  readonly requires?: readonly TierPart[];
  /**
   * In the tests of ids of any text, takes only every nth pair of neighbours, which look alike. The suite's name determines with which
   * pair it begins. Default: 1, which is all pairs.
   */
  readonly every?: number;
}

/** An optional part of a tier. */
export type TierPart =
  | "setup"
  | "ping"
  | "reopen"
  | "ancestry"
  | "copyThread"
  | "forkThread"
  | "copies"
  | "keyChecks"
  | "leases"
  | "locks"
  | "deleteUnchanged"
  | "archiveSource"
  | "inspect"
  | "replaceBytes"
  | "tags"
  | "status";
