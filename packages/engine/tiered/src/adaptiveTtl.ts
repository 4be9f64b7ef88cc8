import type { Tier } from "@stratigraph/core";
import { expiresThreads, remembering } from "@stratigraph/core/internal";

/** How many threads are remembered with their uses: about 5 MB. Any other thread counts as new. */
const rememberedThreads = 20_000;
/** After how many uses the times are chosen anew. Choosing takes about a millisecond. */
const usesPerChoice = 1_000;
/** What earlier uses count at each choice: half after 50,000 further ones. */
const fading = 0.5 ** (usesPerChoice / 50_000);
/** How many uses of a kind must be known before it gets a time of its own. */
const fewestUses = 30;
/** How many kinds of threads there are. */
const kinds = 32;
/** The times to live that a kind may get, in multiples of the tier's `ttl`: a sixteenth to eight, three to each double. */
const multiples: readonly number[] = Array.from({ length: 22 }, (_, n) => 2 ** (n / 3 - 4));
/** The place of the tier's `ttl` among them. */
export const placeOfTtl = multiples.indexOf(1);

/** Uses, and the bytes of the copies at these uses. */
interface Count {
  uses: number;
  bytes: number;
}

/** What is known of the threads of one kind. Newer uses weigh more. */
export interface Kind {
  readonly all: Count;
  /** By place of a time to live: the uses after which it was the shortest that would have reached the next one. */
  readonly next: readonly Count[];
}

/** What is remembered of a thread. */
interface ThreadUses {
  readonly atMs: number;
  readonly last: "read" | "write";
  /** About how much memory its copy takes. */
  readonly bytes: number;
  /** How often it came back after more than the tier's `ttl`. */
  readonly returns: number;
  /** Whether that was after more than four times the `ttl` when it last came back. */
  readonly wasLong: boolean;
}

/**
 * Learns after how long threads of each kind are used again, and chooses for how long the copies of each kind stay in a hot tier.
 * Lives in this process and writes nothing anywhere.
 */
export class AdaptiveTtl {
  readonly #ttlMs: number;
  readonly #now: () => number;
  readonly #threads = remembering<ThreadUses>(rememberedThreads);
  readonly #kinds = Array.from({ length: kinds }, unknownKind);
  #places = new Map<Kind, number>();
  #uses = 0;

  /**
   * @param ttlMs how long unused copies would stay if all stayed equally long, in milliseconds
   * @param now the time in milliseconds since 1970
   */
  constructor(ttlMs: number, now: () => number) {
    this.#ttlMs = ttlMs;
    this.#now = now;
  }

  /** Notes that a thread was used. @param bytes how many bytes were added to its copy */
  used(threadId: string, last: "read" | "write", bytes = 0): void {
    const before = this.#threads.get(threadId);
    const uses = { atMs: this.#now(), last, bytes, returns: 0, wasLong: false };
    if (before !== undefined) {
      const gapMs = uses.atMs - before.atMs;
      const gap = gapMs / this.#ttlMs;
      const kind = this.#kindOf(before);
      countNext(kind, gap, before.bytes);
      // If the copy is gone, its size starts from 0 again.
      if (gapMs <= this.#ttlMsOf(kind)) uses.bytes += before.bytes;
      uses.returns = before.returns + (gap > 1 ? 1 : 0);
      uses.wasLong = gap > 1 ? gap > 4 : before.wasLong;
    }
    this.#threads.set(threadId, uses);
    count(this.#kindOf(uses).all, uses.bytes);
    this.#uses += 1;
    if (this.#uses % usesPerChoice === 0) this.#choose();
  }

  /** Notes that the thread's copy is at least this large, in bytes. */
  sized(threadId: string, bytes: number): void {
    const known = this.#threads.get(threadId);
    if (known === undefined || known.bytes >= bytes) return;
    this.#kindOf(known).all.bytes += bytes - known.bytes;
    this.#threads.set(threadId, { ...known, bytes });
  }

  /** How long the thread's copy stays from now on if it isn't used, in whole milliseconds. */
  ttlMsOf(threadId: string): number {
    const uses = this.#threads.get(threadId);
    return this.#ttlMsOf(uses === undefined ? undefined : this.#kindOf(uses));
  }

  #ttlMsOf(kind: Kind | undefined): number {
    const place = kind === undefined ? undefined : this.#places.get(kind);
    return Math.max(1, Math.round(multiples[place ?? placeOfTtl]! * this.#ttlMs));
  }

  /** Threads of one kind were last used in the same way, and came back about as often and about as late. */
  #kindOf({ last, returns, wasLong }: ThreadUses): Kind {
    const often = Math.min(7, Math.ceil(Math.log2(1 + returns)));
    return this.#kinds[4 * often + (last === "read" ? 2 : 0) + (wasLong ? 1 : 0)]!;
  }

  #choose(): void {
    const known = this.#kinds.filter(({ all }) => all.uses >= fewestUses);
    const places = choosePlaces(known.map(outlookOf));
    this.#places = new Map(known.map((kind, n) => [kind, places[n]!]));
    for (const each of this.#kinds.flatMap(({ all, next }) => [all, ...next])) {
      each.uses *= fading;
      each.bytes *= fading;
    }
  }
}

/**
 * Makes the use of threads decide how long copies stay in a tier. Undefined if they don't expire.
 * @param now the time in milliseconds since 1970
 */
export function adaptTtl(tier: Tier, now: () => number): AdaptiveTtl | undefined {
  if (!expiresThreads(tier) || tier.ttlMs === 0) return undefined;
  const adaptiveTtl = new AdaptiveTtl(tier.ttlMs, now);
  tier.chooseTtl((threadId) => adaptiveTtl.ttlMsOf(threadId), multiples.at(-1)! * tier.ttlMs);
  return adaptiveTtl;
}

export function unknownKind(): Kind {
  return { all: { uses: 0, bytes: 0 }, next: multiples.map(() => ({ uses: 0, bytes: 0 })) };
}

export function count(to: Count, bytes: number): void {
  to.uses += 1;
  to.bytes += bytes;
}

/** Counts that a thread of this kind was used again. @param after after how many `ttl`s */
export function countNext({ next }: Kind, after: number, bytes: number): void {
  const reached = next[multiples.findIndex((multiple) => multiple >= after)];
  if (reached !== undefined) count(reached, bytes);
}

/** By place of a time to live: how many uses would have found their copy, and what the copies would have taken (bytes times `ttl`s). */
export type Outlook = readonly { readonly found: number; readonly taken: number }[];

export function outlookOf({ all, next }: Kind): Outlook {
  let [found, endedBytes, takenByEnded] = [0, 0, 0];
  return next.map(({ uses, bytes }, place) => {
    const multiple = multiples[place]!;
    found += uses;
    endedBytes += bytes;
    // The next use came somewhere between two times to live. Assume the middle of them, on a logarithmic scale.
    takenByEnded += bytes * multiple * 2 ** (-1 / 6);
    // A copy that wasn't used again stays for the whole time. Some of these may still be used again, but count as if they won't.
    return { found, taken: takenByEnded + Math.max(0, all.bytes - endedBytes) * multiple };
  });
}

/**
 * Chooses a time to live for each kind of threads, so that as many uses as possible find their copy, while all copies together take no more
 * than with the tier's `ttl` for all. Each kind is kept as long as that brings more than its memory costs. The price of memory is the same
 * for all kinds: the lowest at which all copies together stay within the budget. Judged by the past, no choice is worse than the `ttl`.
 */
export function choosePlaces(outlooks: readonly Outlook[]): readonly number[] {
  const total = (of: "found" | "taken", places: readonly number[]): number =>
    outlooks.reduce((sum, outlook, n) => sum + outlook[places[n]!]![of], 0);
  const placesAt = (price: number): readonly number[] =>
    outlooks.map((outlook) => {
      const gains = outlook.map(({ found, taken }) => found - price * taken);
      return gains.indexOf(Math.max(...gains));
    });
  const fixed = outlooks.map(() => placeOfTtl);
  // Prices in uses per byte and `ttl`. They are halved on a logarithmic scale until they are exact to seven digits.
  let [low, high] = [1e-20, 1e6];
  for (let step = 0; step < 32; step += 1) {
    const price = Math.sqrt(low * high);
    if (total("taken", placesAt(price)) > total("taken", fixed)) low = price;
    else high = price;
  }
  const chosen = placesAt(high);
  return total("found", chosen) >= total("found", fixed) ? chosen : fixed;
}
