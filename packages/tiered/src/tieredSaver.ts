import {
  InvalidOptionError,
  TierSaver,
  checkOptions,
  pickOptions,
  saverOptionAdvice,
  saverOptionNames,
  trace,
  type OptionNames,
  type SaverOptions,
} from "@stratigraph/core";
import { Maintenance, type MaintenanceReport } from "./maintenance.ts";
import {
  checkMaintainOptions,
  everyMsOf,
  maintenanceNames,
  resolveMaintenance,
  type MaintainOptions,
  type MaintenanceOptions,
  type StartMaintenanceOptions,
} from "./maintenanceOptions.ts";
import { stackAdvice, stackNames, type TierStackOptions } from "./options.ts";
import { TierStack } from "./tierStack.ts";

/** Options of a TieredSaver. */
export interface TieredSaverOptions extends TierStackOptions, SaverOptions, MaintenanceOptions {}

const names: OptionNames<TieredSaverOptions> = { ...stackNames, ...saverOptionNames, ...maintenanceNames };

/**
 * A checkpointer over several tiers: hot ones to read from, a warm one that owns, a cold one for what is idle.
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
  readonly #maintenance: Maintenance | undefined;
  #running: { stop(): Promise<void> } | undefined;

  /** @throws InvalidOptionError */
  constructor(options: TieredSaverOptions) {
    checkOptions("TieredSaver", options, names, { ...saverOptionAdvice, ...stackAdvice });
    if (options === undefined)
      throw new InvalidOptionError("options", "nothing", "Pass { warm } and what else there is.");
    const stack = new TierStack(pickOptions<TierStackOptions>(options, stackNames));
    const saverOptions = pickOptions<SaverOptions>(options, saverOptionNames);
    super(stack, saverOptions);
    const { warm, cold, clock = Date.now } = options;
    const maintenance = resolveMaintenance(options, cold !== undefined);
    if (cold === undefined) return;
    this.#maintenance = new Maintenance(
      {
        warm,
        cold,
        coder: this.coder,
        saverOptions,
        evict: (threadId, revision) => stack.evict(threadId, revision),
        deleteThread: (threadId) => stack.deleteThread(threadId),
        restoreWritten: (threadId) => stack.restoreWritten(threadId),
        dropCopies: (threadId) => stack.dropCopies(threadId),
        now: clock,
      },
      maintenance,
    );
  }

  /**
   * One batch of maintenance: finishes deletions, archives, trims, deletes what was kept long enough. Where the warm tier
   * keeps leases, one process at a time does it. Safe to end at any moment. For cron, or a worker of one's own.
   * @param options `dryRun` answers what would be done, with its bytes; `signal` ends it after the thread under way
   * @throws InvalidOptionError
   */
  async maintain(options: MaintainOptions = {}): Promise<MaintenanceReport> {
    checkMaintainOptions(options);
    return (await this.#maintenance?.run(options)) ?? { ran: true, steps: [], bytes: 0 };
  }

  /**
   * Maintains again and again in this process, the first time after `every`. `stop()` (and `end()`) let the thread under way
   * finish: `process.once("SIGTERM", () => maintenance.stop())`. The timer doesn't keep the process alive.
   * @throws InvalidOptionError
   */
  startMaintenance(options: StartMaintenanceOptions): { stop(): Promise<void> } {
    const everyMs = everyMsOf(options);
    const ending = new AbortController();
    let timer: NodeJS.Timeout;
    let work: Promise<void> = Promise.resolve();
    const later = (): void => {
      if (ending.signal.aborted) return;
      timer = setTimeout(() => {
        work = this.maintain({ signal: ending.signal })
          .then(
            () => undefined,
            (error: unknown) => trace({ type: "maintenance", what: "failed", data: { error } }),
          )
          .finally(later);
      }, everyMs);
      timer.unref();
    };
    later();
    const stop = async (): Promise<void> => {
      ending.abort();
      clearTimeout(timer);
      await work;
    };
    const before = this.#running;
    this.#running = {
      stop: async () => {
        await Promise.all([before?.stop(), stop()]);
      },
    };
    return { stop };
  }

  /**
   * Lets the thread that maintenance is at finish. Then calls are refused ("CLOSED"), those under way and the copies that wait are
   * waited for, for at most `drainFor`, and every tier is ended, also those that were passed in. May be called again. Drain the
   * server in front first: runs under way are rejected at their next step.
   */
  override async end(): Promise<void> {
    if (this.#running !== undefined) await this.#running.stop();
    await super.end();
  }
}
