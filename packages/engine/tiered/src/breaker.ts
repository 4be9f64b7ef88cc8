import { StratigraphError } from "@stratigraph/core";
import { answerWithin, trace } from "@stratigraph/core/internal";
import { isOutage, reasonOf } from "./outage.ts";

/** Settings of a breaker. All times are in milliseconds. */
export interface BreakerSettings {
  /** How long one call may take, without the time in which this process blocked its own event loop. */
  readonly timeoutMs: number;
  /** How many failures in a row open the breaker. Calls that were in progress together count as one failure. */
  readonly failures: number;
  /** How long the breaker stays open the first time. Every failed attempt doubles the time. */
  readonly openForMs: number;
  /** The limit of that doubling. */
  readonly maxOpenForMs: number;
}

/** Closed: calls go through. Open: calls are refused. Half-open: one call is tried, and others are refused. */
export type BreakerState = "closed" | "open" | "half-open";

/** Which calls of a tier a breaker is for. */
export type BreakerUse = "calls" | "reads" | "writes";

/**
 * Stops using a failing tier for a while. A dead or silent tier costs its callers at most `failures` × `timeoutMs`, and then nothing.
 * When it works again, it is used again.
 */
export class Breaker {
  readonly tier: string;
  readonly #use: BreakerUse;
  readonly #settings: BreakerSettings;
  readonly #now: () => number;
  #state: BreakerState = "closed";
  #failures = 0;
  /**
   * Grows with every failure that counts. Failures of calls that were already in progress don't count, because one outage fails all of
   * them.
   */
  #failureGeneration = 0;
  #openForMs: number;
  #openUntilMs = 0;
  #lastError: unknown;

  constructor(tier: string, settings: BreakerSettings, now: () => number, use: BreakerUse = "calls") {
    this.tier = tier;
    this.#use = use;
    this.#settings = settings;
    this.#now = now;
    this.#openForMs = settings.openForMs;
  }

  get state(): BreakerState {
    return this.#state;
  }

  /** Whether a call made now would be refused without asking the tier. */
  get refuses(): boolean {
    return this.#state === "half-open" || (this.#state === "open" && this.#now() < this.#openUntilMs);
  }

  /**
   * Makes a call with a time limit. A later answer is ignored.
   * @throws StratigraphError "UNAVAILABLE" while the breaker is open and after a timeout; otherwise what the call throws
   */
  async run<T>(call: () => Promise<T>): Promise<T> {
    if (this.refuses) throw this.#refusal();
    if (this.#state === "open") this.#enter("half-open");
    const generation = this.#failureGeneration;
    try {
      const answer = await answerWithin(this.#settings.timeoutMs, call, () => this.#silence());
      this.#succeeded(generation);
      return answer;
    } catch (error) {
      if (isOutage(error)) this.#failed(generation, error);
      else this.#succeeded(generation);
      throw error;
    }
  }

  #succeeded(generation: number): void {
    if (generation !== this.#failureGeneration) return;
    this.#failures = 0;
    if (this.#state === "closed") return;
    this.#openForMs = this.#settings.openForMs;
    this.#enter("closed");
  }

  #failed(generation: number, error: unknown): void {
    if (generation !== this.#failureGeneration) return;
    this.#failureGeneration += 1;
    this.#lastError = error;
    this.#failures += 1;
    if (this.#state === "half-open")
      this.#openForMs = Math.min(this.#settings.maxOpenForMs, this.#openForMs * 2);
    else if (this.#failures < this.#settings.failures) return;
    this.#openUntilMs = this.#now() + this.#openForMs;
    this.#enter("open", error);
  }

  #enter(state: BreakerState, error?: unknown): void {
    this.#state = state;
    const use = this.#use;
    trace({ type: "breaker", tier: this.tier, use, state, ...(error === undefined ? {} : { error }) });
  }

  #silence(): StratigraphError {
    const { timeoutMs } = this.#settings;
    return new StratigraphError("UNAVAILABLE", `Tier ${this.tier} gave no answer within ${timeoutMs} ms.`, {
      tier: this.tier,
      timeoutMs,
    });
  }

  #refusal(): StratigraphError {
    return new StratigraphError(
      "UNAVAILABLE",
      `Tier ${this.tier} isn't asked for now, because it failed: ${reasonOf(this.#lastError)} It is tried again by itself.`,
      { tier: this.tier },
      this.#lastError,
    );
  }
}
