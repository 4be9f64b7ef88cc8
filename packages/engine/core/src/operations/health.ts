import { answerWithin } from "../contract/answerWithin.ts";
import { checkOptions, type OptionNames } from "../contract/checkOptions.ts";
import { InvalidOptionError, StratigraphError } from "../contract/errors.ts";
import type { Tier } from "../contract/tier.ts";
import type { TierRole } from "../contract/tierExtensions.ts";
import { waitMsOf, type Duration } from "../contract/units.ts";

/** The state of one tier. */
export interface TierHealth {
  readonly name: string;
  readonly role: TierRole;
  /** Whether it answered in time. */
  readonly ok: boolean;
  /** How long it took to answer, or to fail. Milliseconds. */
  readonly ms: number;
  /** Why it isn't ok. */
  readonly error?: unknown;
  /**
   * The tier's circuit breaker in a stack: "open" while the tier isn't asked because it failed, "half-open" while one call tries it.
   * Absent if it is closed, and outside stacks.
   */
  readonly breaker?: "open" | "half-open" | undefined;
  /** Only for a hot tier of a stack: what this process read from it and copied to it. */
  readonly copies?: CopyHealth | undefined;
  /** Only for a tier that spreads threads over several databases: the state of each. The tier is ok while any of them is. */
  readonly shards?: readonly TierHealth[] | undefined;
}

/** What one process read from a hot tier, and copied to it. Counted since the stack was opened. */
export interface CopyHealth {
  /** Reads whose bytes came from the tier. */
  readonly hits: number;
  /** Reads whose bytes had to come from a farther tier. */
  readonly misses: number;
  /** Copies that wait to be made. */
  readonly waiting: number;
  /** Memory that waiting copies hold, in bytes. */
  readonly waitingBytes: number;
  /** Threads to which a copy is being made. */
  readonly running: number;
  /** Copies that weren't made, because too many waited or the tier failed. A missing copy only costs a later miss. */
  readonly dropped: number;
}

/** The state of a saver. */
export interface Health {
  /** Whether it can serve: the tier that owns the threads answers. Hot tiers, the archive and replicas may be down. */
  readonly ok: boolean;
  /** Nearest first. */
  readonly tiers: readonly TierHealth[];
}

/** Options of `health()`. */
export interface HealthOptions {
  /** How long a tier may take; all are asked at the same time. Default "1s". */
  readonly timeout?: Duration | undefined;
}

/** A tier made of tiers that reports the state of each. */
export interface HealthReporter {
  /** @param timeoutMs how long each part may take, in milliseconds. Never rejects. */
  health(timeoutMs: number): Promise<readonly TierHealth[]>;
}

const names: OptionNames<HealthOptions> = { timeout: true };

function reportsHealth(tier: Tier): tier is Tier & HealthReporter {
  return typeof (tier as Partial<HealthReporter>).health === "function";
}

/** Asks every tier of a saver. @throws InvalidOptionError */
export async function healthOf(tier: Tier, options: HealthOptions = {}): Promise<Health> {
  checkOptions("health", options, names);
  const { timeout = "1s" } = options;
  const timeoutMs = waitMsOf("timeout", timeout);
  if (timeoutMs <= 0) throw new InvalidOptionError("timeout", timeout, "Use a duration above 0.");
  const tiers = reportsHealth(tier)
    ? await tier.health(timeoutMs)
    : [await tierHealth({ name: tier.name, role: "warm", ping: () => pingTier(tier) }, timeoutMs)];
  return { ok: tiers.every(({ role, ok }) => ok || role !== "warm"), tiers };
}

/** Asks one tier whether it would serve now. Never rejects. @param timeoutMs how long it may take, in milliseconds */
export async function tierHealth(
  {
    name,
    role,
    ping,
  }: { readonly name: string; readonly role: TierRole; readonly ping: () => Promise<void> },
  timeoutMs: number,
): Promise<TierHealth> {
  const began = performance.now();
  const taken = (): number => Math.round(performance.now() - began);
  try {
    await answerWithin(timeoutMs, ping, () => silentTierError(name, timeoutMs));
    return { name, role, ok: true, ms: taken() };
  } catch (error) {
    return { name, role, ok: false, ms: taken(), error };
  }
}

/** Makes one cheap round trip to a tier, even if it has no `ping`. @throws what a call would throw */
export async function pingTier(tier: Tier): Promise<void> {
  if (tier.ping !== undefined) await tier.ping();
  // No application's thread ids begin like this, so there is no such thread.
  else await tier.peek({ threadId: "\u0001stratigraph.ping", namespace: "" });
}

/** The error of a tier that gave no answer in time. */
export function silentTierError(tier: string, timeoutMs: number): StratigraphError {
  return new StratigraphError(
    "UNAVAILABLE",
    `Tier ${tier} gave no answer within ${timeoutMs} ms. It hangs, or it can't be reached.`,
    { tier, timeoutMs },
  );
}
