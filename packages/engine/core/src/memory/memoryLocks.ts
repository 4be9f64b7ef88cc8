import type { LockState } from "../contract/tierExtensions.ts";

interface HeldLock extends Omit<LockState, "held"> {
  readonly untilMs: number;
}

/** Locks in this process's memory. A lock that nobody holds is forgotten, because all locks share one count of tokens. */
export class MemoryLocks {
  readonly #locks = new Map<string, HeldLock>();
  readonly #now: () => number;
  #lastToken = 0;

  /** @param now the clock: milliseconds since 1970 */
  constructor(now: () => number) {
    this.#now = now;
  }

  /** As `LockKeeper.lock`. */
  lock(name: string, holder: string, forMs: number): LockState {
    const before = this.#locks.get(name);
    const isTheirs = before !== undefined && before.holder !== holder && before.untilMs > this.#now();
    if (isTheirs) return stateOf(before, false);
    const untilMs = this.#now() + forMs;
    const lock = before?.holder === holder ? { ...before, untilMs } : this.#taken(holder, untilMs);
    this.#locks.set(name, lock);
    return stateOf(lock, true);
  }

  /** As `LockKeeper.unlock`. */
  unlock(name: string, holder: string): void {
    if (this.#locks.get(name)?.holder === holder) this.#locks.delete(name);
  }

  /** Removes locks that expired that long ago, in milliseconds. Returns how many. */
  sweep(olderThanMs: number): number {
    const before = this.#locks.size;
    for (const [name, { untilMs }] of this.#locks)
      if (this.#now() - untilMs >= olderThanMs) this.#locks.delete(name);
    return before - this.#locks.size;
  }

  #taken(holder: string, untilMs: number): HeldLock {
    this.#lastToken = Math.max(this.#lastToken + 1, Math.round(this.#now() * 1000));
    return { holder, sinceMs: this.#now(), token: this.#lastToken, untilMs };
  }
}

function stateOf({ holder, sinceMs, token }: HeldLock, held: boolean): LockState {
  return { held, holder, sinceMs, token };
}
