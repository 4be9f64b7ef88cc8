import { TierSaver, type SaverOptions } from "@stratigraph/core";
import type { TierStackOptions } from "./options.ts";
import { TierStack } from "./tierStack.ts";

/** Options of a TieredSaver. */
export interface TieredSaverOptions extends TierStackOptions, SaverOptions {}

/**
 * A checkpointer over several tiers: hot ones to read from, a warm one that owns, a cold one for what is idle.
 *
 * @example
 * const checkpointer = new TieredSaver({ hot: redis({ client, ttl: "15m" }), warm: postgres({ pool }) });
 * await checkpointer.setup();
 * const graph = builder.compile({ checkpointer });
 */
export class TieredSaver extends TierSaver {
  declare readonly tier: TierStack;

  /** @throws InvalidOptionError */
  constructor(options: TieredSaverOptions) {
    super(new TierStack(options), options);
  }
}
