import type { Tier } from "@stratigraph/core";

/** Methods of a tier that change nothing. What isn't named here is taken for a change. */
const reading: ReadonlySet<string> = new Set(
  "peek read list threads blobs hasBlob inspect tombstones strays leftovers ancestry outline owners threadTags ping diagnose chooseTtl".split(
    " ",
  ),
);

/** A change, and when it was made. */
interface Change {
  readonly atMs: number;
  readonly method: string;
  readonly args: readonly unknown[];
}

/**
 * A tier in memory that remembers what changed it, so that it can be set back to what it was: as a restored backup, or a replica
 * that was behind.
 */
export class RecordedTier<T extends Tier> {
  /** The tier, as its server has it: another one after each {@link setBack}. */
  readonly tier: T;
  /** Thrown by every call, while the server is away. */
  away: Error | undefined;
  readonly #make: (now: () => number) => T;
  #current: T;
  #changes: Change[] = [];
  #replayedMs: number | undefined;

  /** @param make makes an empty tier with this clock */
  constructor(make: (now: () => number) => T) {
    this.#make = make;
    this.#current = this.#empty();
    this.tier = new Proxy(this.#current, {
      get: (_target, name) => {
        const member = Reflect.get(this.#current, name, this.#current) as unknown;
        if (typeof member !== "function" || typeof name !== "string") return member;
        return (...args: unknown[]) => this.#call(name, args);
      },
    });
  }

  /** Remembers what is stored now. @returns a name for it */
  mark(): number {
    return this.#changes.length;
  }

  /** Everything since a mark didn't happen. */
  async setBack(mark: unknown): Promise<void> {
    const kept = this.#changes.slice(0, mark as number);
    const before = this.#empty();
    for (const { atMs, method, args } of kept) {
      this.#replayedMs = atMs;
      try {
        await (before as unknown as Record<string, (...all: unknown[]) => unknown>)[method]!(...args);
      } catch {
        // It was refused then, too.
      }
    }
    this.#replayedMs = undefined;
    [this.#current, this.#changes] = [before, kept];
  }

  /** Everything is gone, without a trace: as after FLUSHALL, or a time to live. */
  lose(): void {
    [this.#current, this.#changes] = [this.#empty(), []];
  }

  #call(method: string, args: readonly unknown[]): unknown {
    if (this.away !== undefined) throw this.away;
    if (!reading.has(method)) this.#changes.push({ atMs: Date.now(), method, args });
    const current = this.#current as unknown as Record<string, (...all: unknown[]) => unknown>;
    return current[method]!(...args);
  }

  #empty(): T {
    return this.#make(() => this.#replayedMs ?? Date.now());
  }
}
