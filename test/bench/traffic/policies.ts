import type { ThreadUse } from "./trace.ts";

/** How long copies stay: "fixed" and "adaptive" are options of a stack, the others are here to compare with. */
export type PolicyName = "fixed" | "adaptive" | "gaps" | "frequency" | "foresight";

/** A policy that isn't an option of a stack. It is told of each use before the tier is asked. */
export interface Policy {
  used(use: ThreadUse): void;
  ttlMsOf(thread: string): number;
}

/** Makes one of the policies to compare with. Undefined for the options of a stack. */
export function policyOf(name: PolicyName, ttlMs: number, trace: readonly ThreadUse[]): Policy | undefined {
  if (name === "gaps") return new Gaps(ttlMs);
  if (name === "frequency") return new Frequency(ttlMs);
  return name === "foresight" ? new Foresight(ttlMs, trace) : undefined;
}

/** One and a half times as long as the thread was away on average, as far as that was longer than the ttl: between a third and 96 ttls. */
class Gaps implements Policy {
  readonly #ttlMs: number;
  readonly #threads = new Map<string, { atMs: number; awayMs?: number }>();

  constructor(ttlMs: number) {
    this.#ttlMs = ttlMs;
  }

  used({ thread, atMs }: ThreadUse): void {
    const { atMs: before = atMs, awayMs } = this.#threads.get(thread) ?? {};
    const gapMs = atMs - before;
    const isAway = gapMs > this.#ttlMs;
    const now = isAway ? (awayMs === undefined ? gapMs : 0.7 * awayMs + 0.3 * gapMs) : awayMs;
    this.#threads.set(thread, { atMs, ...(now === undefined ? {} : { awayMs: now }) });
  }

  ttlMsOf(thread: string): number {
    const { awayMs } = this.#threads.get(thread) ?? {};
    if (awayMs === undefined) return this.#ttlMs;
    return Math.round(Math.max(this.#ttlMs / 3, Math.min(96 * this.#ttlMs, 1.5 * awayMs)));
  }
}

/** A third of the ttl, times the root of how often the thread was used, where uses of a week ago count half: frequency, as TinyLFU has it. */
class Frequency implements Policy {
  readonly #ttlMs: number;
  readonly #threads = new Map<string, { atMs: number; uses: number }>();

  constructor(ttlMs: number) {
    this.#ttlMs = ttlMs;
  }

  used({ thread, atMs }: ThreadUse): void {
    const before = this.#threads.get(thread) ?? { atMs, uses: 0 };
    const uses = before.uses * 0.5 ** ((atMs - before.atMs) / (7 * 86_400_000)) + 1;
    this.#threads.set(thread, { atMs, uses });
  }

  ttlMsOf(thread: string): number {
    return Math.round((this.#ttlMs / 3) * Math.sqrt(this.#threads.get(thread)?.uses ?? 1));
  }
}

/** Knows the future: a copy goes at once if the thread isn't used again within the ttl. No policy of the same reach takes less. */
class Foresight implements Policy {
  readonly #ttlMs: number;
  readonly #gaps: Map<string, number[]>;

  constructor(ttlMs: number, trace: readonly ThreadUse[]) {
    this.#ttlMs = ttlMs;
    this.#gaps = new Map();
    const last = new Map<string, number>();
    for (const { thread, atMs } of trace) {
      const before = last.get(thread);
      if (before !== undefined) this.#gaps.set(thread, [...(this.#gaps.get(thread) ?? []), atMs - before]);
      last.set(thread, atMs);
    }
    for (const gaps of this.#gaps.values()) gaps.reverse();
  }

  used({ thread }: ThreadUse): void {
    this.#next.set(thread, this.#gaps.get(thread)?.pop() ?? Number.POSITIVE_INFINITY);
  }

  readonly #next = new Map<string, number>();

  ttlMsOf(thread: string): number {
    const gapMs = this.#next.get(thread) ?? Number.POSITIVE_INFINITY;
    return gapMs <= this.#ttlMs ? Math.ceil(gapMs) + 1 : 1;
  }
}
