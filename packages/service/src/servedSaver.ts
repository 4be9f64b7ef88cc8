import type { Tier } from "@stratigraph/core";

/** What is needed of a checkpointer: every Stratigraph saver has it. */
export interface ServedSaver {
  readonly tier: Tier;
  end(): Promise<void>;
}
