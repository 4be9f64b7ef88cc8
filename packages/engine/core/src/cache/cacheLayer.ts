import { answerWithin } from "../contract/answerWithin.ts";
import type { CacheAddress, CacheKeeper, CacheLimits, CacheRead, CacheWrite } from "../contract/caches.ts";
import { StratigraphError } from "../contract/errors.ts";
import type { Tier } from "../contract/tier.ts";
import { keepsLeases } from "../contract/tierExtensions.ts";
import { trace } from "../contract/trace.ts";

/** How long a storage isn't asked after it failed, in milliseconds: runs shouldn't wait for it at every step. */
const restMs = 5000;

/** A cache in one storage. Apart from {@link clear}, its failures are traced, cost at most a bounded wait, and reach nobody. */
export class CacheLayer {
  readonly tier: Tier & CacheKeeper;
  readonly #cache: string;
  readonly #limits: CacheLimits;
  readonly #timeoutMs: number;
  #restsUntilMs = 0;

  constructor(tier: Tier & CacheKeeper, cache: string, limits: CacheLimits, timeoutMs: number) {
    this.tier = tier;
    this.#cache = cache;
    this.#limits = limits;
    this.#timeoutMs = timeoutMs;
  }

  get leases(): boolean {
    return keepsLeases(this.tier);
  }

  async read(addresses: readonly CacheAddress[]): Promise<readonly CacheRead[] | undefined> {
    return await this.#ask(() => this.tier.caches.read(this.#cache, addresses));
  }

  async write(entry: CacheWrite): Promise<boolean | undefined> {
    return await this.#ask(() => this.tier.caches.write(this.#cache, entry, this.#limits));
  }

  /** Takes a lease, or gives it back (0). Undefined: nobody knows who has it. */
  async lease(id: string, holder: string, forMs: number): Promise<boolean | undefined> {
    const { tier } = this;
    if (!keepsLeases(tier)) return undefined;
    return await this.#ask(() => tier.lease(`cache/${this.#cache}/${id}`, holder, forMs));
  }

  /** @throws StratigraphError */
  async clear(groups: readonly string[] | undefined): Promise<void> {
    await this.tier.caches.clear(this.#cache, groups);
  }

  async #ask<T>(call: () => Promise<T>): Promise<T | undefined> {
    if (performance.now() < this.#restsUntilMs) return undefined;
    try {
      return await answerWithin(this.#timeoutMs, call, () => this.#late());
    } catch (error) {
      this.#restsUntilMs = performance.now() + restMs;
      trace({ type: "cache", tier: this.tier.name, result: "failed", count: 1, error });
      return undefined;
    }
  }

  #late(): Error {
    return new StratigraphError(
      "UNAVAILABLE",
      `The cache on tier ${this.tier.name} didn't answer within ${this.#timeoutMs} ms. Nodes run as if nothing were cached.`,
      { tier: this.tier.name },
    );
  }
}
