import type { Tier } from "@stratigraph/core";

/** The parts of a checkpointer that are needed. Every Stratigraph saver has them. */
export interface ServedSaver {
  readonly tier: Tier;
  end(): Promise<void>;
}
