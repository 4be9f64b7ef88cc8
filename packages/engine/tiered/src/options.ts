// long file: every option of a stack, and the check of each
import { InvalidOptionError, type Duration, type Size, type Tier } from "@stratigraph/core";
import {
  bytesOf,
  checkOptions,
  expiresThreads,
  keepsCopies,
  msOf,
  waitMsOf,
  type OptionAdvice,
  type OptionNames,
  retentionNames,
} from "@stratigraph/core/internal";
import { checkTier } from "@stratigraph/core/tier";
import { archivingNames } from "./archivingOptions.ts";
import type { BreakerSettings } from "./breaker.ts";
import type { QueueLimits } from "./copyQueue.ts";

/** When a failing tier is no longer used, and for how long. */
export interface BreakerOptions {
  /**
   * How long one call to a hot tier may take. Time in which this process couldn't have read an answer doesn't count, so a callback
   * that blocks the event loop doesn't make a tier look dead. Default "250ms".
   */
  readonly timeout?: Duration | undefined;
  /** How long one call to the cold tier or to a replica may take. Default "10s". */
  readonly coldTimeout?: Duration | undefined;
  /** After how many failures in a row the tier is no longer used. Calls that fail together in one outage count once. Default 2. */
  readonly failures?: number | undefined;
  /** How long the tier isn't used the first time. Every failed attempt doubles the time. Default "1s". */
  readonly openFor?: Duration | undefined;
  /** The longest time between two attempts. Default "30s". */
  readonly maxOpenFor?: Duration | undefined;
}

/** Limits on what waits to be copied to one hot tier. Copies beyond them are dropped, counted and traced. */
export interface QueueOptions {
  /** How many copies may wait. Default 10,000. */
  readonly maxCopies?: number | undefined;
  /** How much memory waiting copies may take. Default "64mb". */
  readonly maxSize?: Size | undefined;
  /** For how many threads copies are made at the same time. Default 8. */
  readonly parallel?: number | undefined;
}

/**
 * Where the newest checkpoint and pending writes are read from:
 * - "verified": always from the warm tier, by one small query that runs in parallel with the hot read.
 * - "trusted": from the farthest hot tier, for at most `trustFor` after they were last verified. If another process is killed in the
 *   middle of a write, or can't reach the hot tier, a read may be stale for that long. A write based on a stale read is still refused
 *   as a conflict.
 */
export type Consistency = "verified" | "trusted";

/** When an archived checkpoint is copied back to the warm tier: when it is read, when a write continues from it, or never. */
export type RestoreOn = "read" | "write" | "never";

/** Options of a stack of tiers. */
export interface TierStackOptions {
  /** Tiers that hold copies for fast reads, nearest first. Losing one costs only time. */
  readonly hot?: Tier | readonly Tier[] | undefined;
  /** The tier that owns heads and pending writes. A write is done when this tier has stored it. */
  readonly warm: Tier;
  /** Where idle threads are archived. */
  readonly cold?: Tier | undefined;
  /** Read-only copies of the warm tier, for instance streaming replicas. */
  readonly replicas?: readonly Tier[] | undefined;
  /** Where the newest checkpoint and pending writes are read from. Default "verified". */
  readonly consistency?: Consistency | undefined;
  /** How long copies of heads and pending writes may be trusted. Only used with `consistency: "trusted"`. Default "1m". */
  readonly trustFor?: Duration | undefined;
  /**
   * When archived checkpoints are restored. Default "read". With "never", archived threads can be read; runs and writes that would continue
   * them are refused ("EVICTED") before a node runs.
   */
  readonly restoreOn?: RestoreOn | undefined;
  /**
   * Whether the use of threads decides how long each copy stays in the hot tiers. The `ttl` of a hot tier then limits the memory of all its
   * copies together, and no longer says how long each of them stays. Copies of threads that resemble those that were used again stay up to
   * eight times as long, and others go sooner. Together they take no more than if each stayed for the `ttl`. Each process learns for
   * itself, from a thousand uses on. Default false.
   */
  readonly adaptiveTtl?: boolean | undefined;
  readonly breaker?: BreakerOptions | undefined;
  readonly queue?: QueueOptions | undefined;
  /**
   * How long `end()` waits for calls in progress and for copies to the hot tiers. Copies that aren't made by then are dropped and
   * traced. Default "5s".
   */
  readonly drainFor?: Duration | undefined;
  /** How long `end()` then waits for each tier to end. They end at the same time. Default "15s". */
  readonly endFor?: Duration | undefined;
}

/** Options with every default filled in. */
export interface ResolvedStack {
  readonly hot: readonly Tier[];
  readonly warm: Tier;
  readonly cold: Tier | undefined;
  readonly replicas: readonly Tier[];
  /** In milliseconds. Undefined with `consistency: "verified"`. */
  readonly trustForMs: number | undefined;
  readonly restoreOn: RestoreOn;
  readonly adaptiveTtl: boolean;
  readonly hotBreaker: BreakerSettings;
  readonly coldBreaker: BreakerSettings;
  readonly queue: QueueLimits;
  readonly drainForMs: number;
  readonly endForMs: number;
}

export const stackNames: OptionNames<TierStackOptions> = {
  hot: true,
  warm: true,
  cold: true,
  replicas: true,
  consistency: true,
  trustFor: true,
  restoreOn: true,
  adaptiveTtl: true,
  breaker: true,
  queue: true,
  drainFor: true,
  endFor: true,
};
const breakerNames: OptionNames<BreakerOptions> = {
  timeout: true,
  coldTimeout: true,
  failures: true,
  openFor: true,
  maxOpenFor: true,
};
const queueNames: OptionNames<QueueOptions> = { maxCopies: true, maxSize: true, parallel: true };

const ofMaintenance = "Maintenance is a TieredSaver's: pass it there.";

/** Advice on names that other libraries use. */
export const stackAdvice: OptionAdvice = {
  cache: "Write hot.",
  archive: "Write cold.",
  primary: "Write warm.",
  replica: "Write replicas, a list.",
  ttl: "It belongs to a tier: hot: redis({ client, ttl }).",
  adaptiveTTL: "Write adaptiveTtl.",
  adaptive: "Write adaptiveTtl: true.",
  timeout: "Write breaker: { timeout }.",
};
const tierStackAdvice: OptionAdvice = {
  ...stackAdvice,
  ...Object.fromEntries(
    Object.keys({ ...archivingNames, ...retentionNames }).map((name) => [name, ofMaintenance]),
  ),
};

/** Checks a stack's options once, when it is made. @throws InvalidOptionError */
export function resolveStack(options: TierStackOptions): ResolvedStack {
  checkOptions("TierStack", options, stackNames, tierStackAdvice);
  if (options === undefined)
    throw new InvalidOptionError("options", "nothing", "Pass { warm } and what else the stack has.");
  const { consistency = "verified", restoreOn = "read", adaptiveTtl = false } = options;
  const hot = options.hot === undefined ? [] : isList(options.hot) ? [...options.hot] : [options.hot];
  if (options.replicas !== undefined && !Array.isArray(options.replicas))
    throw new InvalidOptionError("replicas", typeof options.replicas, "Pass a list of tiers, also of one.");
  const replicas = [...(options.replicas ?? [])];
  if (options.warm === undefined || options.warm === null) {
    throw new InvalidOptionError(
      "warm",
      String(options.warm),
      "A stack needs the tier that owns its threads: pass warm, for instance postgres({ pool }). A stack of one tier is fine.",
    );
  }
  const roles: [string, Tier][] = [
    ...hot.map((tier, i): [string, Tier] => [hot.length === 1 ? "hot" : `hot[${i}]`, tier]),
    ["warm", options.warm],
    ...(options.cold === undefined ? [] : [["cold", options.cold] as [string, Tier]]),
    ...replicas.map((tier, i): [string, Tier] => [`replicas[${i}]`, tier]),
  ];
  checkRoles(roles);
  if (consistency !== "verified" && consistency !== "trusted")
    throw new InvalidOptionError("consistency", consistency, 'Use "verified" or "trusted".');
  if (restoreOn !== "read" && restoreOn !== "write" && restoreOn !== "never")
    throw new InvalidOptionError("restoreOn", restoreOn, 'Use "read", "write" or "never".');
  if (consistency === "trusted") checkTrusted(hot);
  if (typeof adaptiveTtl !== "boolean")
    throw new InvalidOptionError("adaptiveTtl", typeof adaptiveTtl, "Pass true or false.");
  if (adaptiveTtl) checkAdaptive(hot);
  const { breaker = {}, queue = {} } = options;
  checkOptions(
    "breaker",
    breaker,
    breakerNames,
    { resetTimeout: "Write openFor.", threshold: "Write failures." },
    "breaker",
  );
  checkOptions(
    "queue",
    queue,
    queueNames,
    { max: "Write maxCopies.", concurrency: "Write parallel." },
    "queue",
  );
  const shared = {
    failures: whole("breaker.failures", breaker.failures ?? 2),
    openForMs: positive("breaker.openFor", breaker.openFor ?? "1s"),
    maxOpenForMs: positive("breaker.maxOpenFor", breaker.maxOpenFor ?? "30s"),
  };
  return {
    hot,
    warm: options.warm,
    cold: options.cold,
    replicas,
    trustForMs: consistency === "trusted" ? positive("trustFor", options.trustFor ?? "1m") : undefined,
    restoreOn,
    adaptiveTtl,
    hotBreaker: { ...shared, timeoutMs: positive("breaker.timeout", breaker.timeout ?? "250ms", waitMsOf) },
    coldBreaker: {
      ...shared,
      timeoutMs: positive("breaker.coldTimeout", breaker.coldTimeout ?? "10s", waitMsOf),
    },
    queue: {
      maxJobs: whole("queue.maxCopies", queue.maxCopies ?? 10_000),
      maxBytes: bytesOf("queue.maxSize", queue.maxSize ?? "64mb"),
      parallel: whole("queue.parallel", queue.parallel ?? 8),
    },
    drainForMs: timerMsOf("drainFor", options.drainFor ?? "5s"),
    endForMs: positive("endFor", options.endFor ?? "15s", timerMsOf),
  };
}

function isList(hot: Tier | readonly Tier[]): hot is readonly Tier[] {
  return Array.isArray(hot);
}

function checkRoles(roles: readonly (readonly [string, Tier])[]): void {
  const seen = new Map<Tier, string>();
  for (const [role, tier] of roles) {
    checkTier(role, tier, !role.startsWith("hot"));
    const other = seen.get(tier);
    if (other !== undefined) {
      throw new InvalidOptionError(
        role,
        tier.name,
        `It is the same tier as ${other}: a thread's head would have two owners. Give every role a tier of its own.`,
      );
    }
    seen.set(tier, role);
  }
}

function checkTrusted(hot: readonly Tier[]): void {
  const farthest = hot.at(-1);
  if (farthest !== undefined && keepsCopies(farthest)) return;
  throw new InvalidOptionError(
    "consistency",
    "trusted",
    farthest === undefined
      ? 'There is no hot tier to trust. Pass hot, or use "verified".'
      : `Tier ${farthest.name} can't stand in for the warm tier (it has no adopt()). Use "verified".`,
  );
}

function checkAdaptive(hot: readonly Tier[]): void {
  if (hot.some((tier) => expiresThreads(tier) && tier.ttlMs > 0)) return;
  throw new InvalidOptionError(
    "adaptiveTtl",
    "true",
    hot.length === 0
      ? "There is no hot tier. Pass hot, or leave it out."
      : `No copy in ${hot.map(({ name }) => name).join(", ")} expires after it wasn't used for a while, so there is no time to adapt. Give the ` +
          `hot tier a ttl: redis({ url, ttl: "15m" }) or boundedMemory({ forgetAfter: "15m" }).`,
  );
}

/** The longest time that a timer can wait, in milliseconds: a little less than 25 days. */
const longestTimerMs = 2 ** 31 - 1;

function timerMsOf(field: string, value: Duration): number {
  const ms = msOf(field, value);
  if (ms > longestTimerMs) throw new InvalidOptionError(field, value, "Use a duration of at most 24d.");
  return ms;
}

function positive(field: string, value: Duration, toMs = msOf): number {
  const ms = toMs(field, value);
  if (ms <= 0) throw new InvalidOptionError(field, value, "Use a duration above 0.");
  return ms;
}

function whole(field: string, value: number): number {
  if (!Number.isInteger(value) || value < 1)
    throw new InvalidOptionError(field, value, "Use a whole number, 1 or more.");
  return value;
}
