import { StratigraphError, type Tier } from "@stratigraph/core";
import { Breaker, type BreakerSettings, type BreakerState } from "./breaker.ts";
import { isOutage, reasonOf } from "./outage.ts";

/** A cold tier behind a breaker. During an outage it throws "ARCHIVE_UNAVAILABLE"; such calls may be repeated. */
export class ColdTier {
  readonly tier: Tier;
  readonly #breaker: Breaker;

  constructor(tier: Tier, breaker: BreakerSettings, now: () => number) {
    this.tier = tier;
    this.#breaker = new Breaker(tier.name, breaker, now);
  }

  get breaker(): BreakerState {
    return this.#breaker.state;
  }

  /** @throws StratigraphError "ARCHIVE_UNAVAILABLE", and what a healthy tier throws */
  async run<T>(threadId: string | undefined, call: (tier: Tier) => Promise<T>): Promise<T> {
    try {
      return await this.#breaker.run(() => call(this.tier));
    } catch (error) {
      throw isOutage(error) ? this.#unavailable(threadId, error) : error;
    }
  }

  /** Iterates, and makes each step through the breaker. */
  async *iterate<T>(threadId: string | undefined, open: (tier: Tier) => AsyncIterable<T>): AsyncGenerator<T> {
    const items = open(this.tier)[Symbol.asyncIterator]();
    try {
      for (;;) {
        const next = await this.run(threadId, () => items.next());
        if (next.done === true) return;
        yield next.value;
      }
    } finally {
      await items.return?.()?.catch(() => undefined);
    }
  }

  #unavailable(threadId: string | undefined, error: unknown): StratigraphError {
    const what = threadId === undefined ? "Archived threads" : `Thread ${JSON.stringify(threadId)}`;
    return new StratigraphError(
      "ARCHIVE_UNAVAILABLE",
      `${what} can't be read from the archive (tier ${this.tier.name}) now: ${reasonOf(error)} Threads in the warm tier are not affected; repeat the call later.`,
      { tier: this.tier.name, threadId },
      error,
    );
  }
}
