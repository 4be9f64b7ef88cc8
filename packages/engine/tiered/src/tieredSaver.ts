import { InvalidOptionError, TierSaver, type SaverOptions, type Tier } from "@stratigraph/core";
import {
  checkOptions,
  deleteIdleTask,
  evictLooseTask,
  noteStatusTask,
  pickOptions,
  saverOptionAdvice,
  saverOptionNames,
  sweepsTiers,
  type MaintenanceTask,
  type OptionNames,
  type RetentionParts,
} from "@stratigraph/core/internal";
import { Archiving } from "./archiving.ts";
import {
  archivingNames,
  resolveArchiving,
  type ArchivingOptions,
  type ResolvedArchiving,
} from "./archivingOptions.ts";
import { stackAdvice, stackNames, type TierStackOptions } from "./options.ts";
import { TierStack } from "./tierStack.ts";

/** Options of a TieredSaver. */
export interface TieredSaverOptions extends TierStackOptions, SaverOptions, ArchivingOptions {}

const names: OptionNames<TieredSaverOptions> = { ...stackNames, ...saverOptionNames, ...archivingNames };

/**
 * A checkpointer over several tiers: hot tiers for fast reads, a warm tier that owns the threads, and a cold tier for idle threads.
 *
 * @example
 * const checkpointer = new TieredSaver({
 *   hot: redis({ client, ttl: "15m" }),
 *   warm: postgres({ pool }),
 *   cold: s3({ client, bucket, prefix }),
 *   archiveAfter: "7d",
 * });
 * await checkpointer.setup();
 * checkpointer.startMaintenance({ every: "10m" });
 * const graph = builder.compile({ checkpointer });
 */
export class TieredSaver extends TierSaver {
  declare readonly tier: TierStack;
  readonly #warm: Tier;
  readonly #cold: Tier | undefined;
  readonly #hot: readonly Tier[];
  readonly #archiving: ResolvedArchiving;
  readonly #now: () => number;

  /** @param now the clock, for tests: milliseconds since 1970 @throws InvalidOptionError */
  constructor(options: TieredSaverOptions, now: () => number = Date.now) {
    checkOptions("TieredSaver", options, names, { ...saverOptionAdvice, ...stackAdvice });
    if (options === undefined)
      throw new InvalidOptionError("options", "nothing", "Pass { warm } and what else there is.");
    const stack = new TierStack(pickOptions<TierStackOptions>(options, stackNames), now);
    super(stack, pickOptions<SaverOptions>(options, saverOptionNames));
    const { hot = [], warm, cold } = options;
    this.#archiving = resolveArchiving(options);
    this.#hot = [hot].flat();
    this.#warm = warm;
    this.#cold = cold;
    this.#now = now;
  }

  /** With a cold tier, deletions are finished first. Then idle threads move there, and so do checkpoints that would otherwise be pruned. */
  protected override maintenanceTasks(ofSaver: RetentionParts): readonly MaintenanceTask[] {
    const [warm, cold, now] = [this.#warm, this.#cold, this.#now];
    const parts = { ...ofSaver, now };
    if (cold === undefined) {
      return [...super.maintenanceTasks(parts), sweepsTiers([warm, ...this.#hot], now)];
    }
    const archiving = new Archiving({ ...parts, stack: this.tier, warm, cold, archiving: this.#archiving });
    return [
      (batch) => archiving.finishDeletions(batch),
      deleteIdleTask(parts),
      evictLooseTask(parts),
      noteStatusTask(parts),
      (batch) => archiving.archive(batch),
      (batch) => archiving.trim(batch),
      sweepsTiers([warm, ...this.#hot, cold], now),
    ];
  }
}
