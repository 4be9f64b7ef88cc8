/** A copy stays for at least this share of the tier's `ttl` after its last use. */
const shortestShare = 1 / 16;
/** A copy stays for at most this many times the tier's `ttl` after its last use. */
export const longestTimes = 8;
/** How many steps there are between one time to live and its double. */
const perDouble = 3;
/** The times to live that a kind of threads may get, as shares of the tier's `ttl`, ascending. The `ttl` itself is one of them. */
const shares: readonly number[] = Array.from(
  { length: 1 + perDouble * Math.log2(longestTimes / shortestShare) },
  (_, n) => shortestShare * 2 ** (n / perDouble),
);
/** The place of the tier's `ttl` among the shares. */
export const placeOfTtl = perDouble * Math.log2(1 / shortestShare);

/** What each time to live would have brought and taken for the threads of one kind. */
export interface Outlook {
  /** Times to live, in milliseconds, ascending. */
  readonly ttlsMs: readonly number[];
  /** How many uses would have found the copy. */
  readonly found: readonly number[];
  /** What the copies would have taken: bytes times milliseconds. */
  readonly taken: readonly number[];
}

/** Counts after how long threads of one kind were used again. Newer uses weigh more, and the memory for it is fixed. */
export class ReturnTimes {
  readonly #ttlMs: number;
  /** How many uses there were, and the bytes of the copies at these uses. */
  #uses = 0;
  #bytes = 0;
  /** For each time to live, how often it was the shortest that would have reached the next use, and the bytes of these copies. */
  readonly #next = new Float64Array(shares.length);
  readonly #nextBytes = new Float64Array(shares.length);

  constructor(ttlMs: number) {
    this.#ttlMs = ttlMs;
  }

  /** How many uses are known; older ones count less than one each. */
  get uses(): number {
    return this.#uses;
  }

  /** A thread of this kind was used. */
  began(bytes: number): void {
    this.#uses += 1;
    this.#bytes += bytes;
  }

  /** The copy of a thread that was used turned out to be larger by this many bytes. */
  grew(bytes: number): void {
    this.#bytes += bytes;
  }

  /** A thread of this kind was used again, `afterMs` milliseconds later. */
  ended(afterMs: number, bytes: number): void {
    const share = afterMs / this.#ttlMs;
    if (share > longestTimes) return;
    const place = Math.max(0, Math.ceil(perDouble * Math.log2(share / shortestShare)));
    this.#next[place]! += 1;
    this.#nextBytes[place]! += bytes;
  }

  /** Makes all that is known count less. @param factor between 0 and 1 */
  fade(factor: number): void {
    this.#uses *= factor;
    this.#bytes *= factor;
    for (let place = 0; place < shares.length; place += 1) {
      this.#next[place]! *= factor;
      this.#nextBytes[place]! *= factor;
    }
  }

  outlook(): Outlook {
    const ttlsMs = shares.map((share) => share * this.#ttlMs);
    const [found, taken]: [number[], number[]] = [[], []];
    let [hits, endedBytes, takenByEnded] = [0, 0, 0];
    for (const [place, ttlMs] of ttlsMs.entries()) {
      hits += this.#next[place]!;
      endedBytes += this.#nextBytes[place]!;
      // The next use came somewhere between two times to live. Assume the middle of them, on a logarithmic scale.
      takenByEnded += (this.#nextBytes[place]! * ttlMs) / 2 ** (0.5 / perDouble);
      found.push(hits);
      // A copy that wasn't used again stays for the whole time. Some of these may still be used again, but count as if they won't.
      taken.push(takenByEnded + Math.max(0, this.#bytes - endedBytes) * ttlMs);
    }
    return { ttlsMs, found, taken };
  }
}
