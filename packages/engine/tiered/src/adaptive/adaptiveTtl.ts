import { remembering, expiresThreads } from "@stratigraph/core/internal";
import { chooseTtls } from "./chooseTtls.ts";
import { kindOfThread, kindsOfThreads, type ThreadUses, type Use } from "./kindOfThread.ts";
import { ReturnTimes, longestTimes } from "./returnTimes.ts";
import type { Tier } from "@stratigraph/core";

/** How many threads are remembered with their uses: about 5 MB. Any other thread counts as new. */
const rememberedThreads = 20_000;
/** After how many uses the times are chosen anew. Choosing takes one to three milliseconds. */
const usesPerChoice = 1_000;
/** After how many further uses earlier uses count half. */
const usesPerHalf = 50_000;
/** How many uses of a kind must be known before it gets a time of its own. */
const fewestUses = 30;

/**
 * Learns after how long threads of each kind are used again, and chooses for how long the copies of each kind stay in a hot tier.
 * Lives in this process and writes nothing anywhere.
 */
export class AdaptiveTtl {
  readonly #ttlMs: number;
  readonly #now: () => number;
  readonly #threads = remembering<ThreadUses>(rememberedThreads);
  readonly #times: readonly ReturnTimes[];
  #ttlsMs: readonly (number | undefined)[] = [];
  #uses = 0;

  /**
   * @param ttlMs how long unused copies would stay if all stayed equally long, in milliseconds
   * @param now the time in milliseconds since 1970
   */
  constructor(ttlMs: number, now: () => number) {
    this.#ttlMs = ttlMs;
    this.#now = now;
    this.#times = Array.from({ length: kindsOfThreads }, () => new ReturnTimes(ttlMs));
  }

  /** Notes that a thread was used. @param bytes how many bytes were added to its copy */
  used(threadId: string, use: Use, bytes = 0): void {
    const before = this.#threads.get(threadId);
    const after = this.#usesAfter(before, use, bytes);
    if (before !== undefined)
      this.#times[kindOfThread(before)]!.ended(after.atMs - before.atMs, before.bytes);
    this.#threads.set(threadId, after);
    this.#times[kindOfThread(after)]!.began(after.bytes);
    this.#uses += 1;
    if (this.#uses % usesPerChoice === 0) this.#choose();
  }

  /** Notes that the thread's copy is at least this large, in bytes. */
  sized(threadId: string, bytes: number): void {
    const known = this.#threads.get(threadId);
    if (known === undefined || known.bytes >= bytes) return;
    this.#times[kindOfThread(known)]!.grew(bytes - known.bytes);
    this.#threads.set(threadId, { ...known, bytes });
  }

  /** How long the thread's copy stays from now on if it isn't used, in whole milliseconds. */
  ttlMsOf(threadId: string): number {
    return this.#ttlMsAfter(this.#threads.get(threadId));
  }

  #ttlMsAfter(uses: ThreadUses | undefined): number {
    const chosen = uses === undefined ? undefined : this.#ttlsMs[kindOfThread(uses)];
    return Math.max(1, Math.round(chosen ?? this.#ttlMs));
  }

  #usesAfter(before: ThreadUses | undefined, last: Use, bytes: number): ThreadUses {
    const atMs = this.#now();
    if (before === undefined) return { atMs, last, bytes, returns: 0, returnedAfter: 0, usesSince: 1 };
    const gapMs = atMs - before.atMs;
    // If the copy is gone, its size starts from 0 again.
    const kept = gapMs > this.#ttlMsAfter(before) ? 0 : before.bytes;
    const since = { ...before, atMs, last, bytes: kept + bytes };
    const gap = gapMs / this.#ttlMs;
    return gap > 1
      ? { ...since, returns: before.returns + 1, returnedAfter: gap, usesSince: 1 }
      : { ...since, usesSince: before.usesSince + 1 };
  }

  #choose(): void {
    this.#ttlsMs = chooseTtls(
      this.#times.map((times) => (times.uses < fewestUses ? undefined : times.outlook())),
    );
    const factor = 0.5 ** (usesPerChoice / usesPerHalf);
    for (const times of this.#times) times.fade(factor);
  }
}

/**
 * Makes the use of threads decide how long copies stay in a tier. Undefined if they don't expire.
 * @param now the time in milliseconds since 1970
 */
export function adaptTtl(tier: Tier, now: () => number): AdaptiveTtl | undefined {
  if (!expiresThreads(tier) || tier.ttlMs === 0) return undefined;
  const { ttlMs } = tier;
  const adaptiveTtl = new AdaptiveTtl(ttlMs, now);
  tier.chooseTtl((threadId) => adaptiveTtl.ttlMsOf(threadId), longestTimes * ttlMs);
  return adaptiveTtl;
}
