import { StratigraphError, type Tier } from "@stratigraph/core";
import { answerWithin, pingTier } from "@stratigraph/core/internal";
import type { TierRole } from "@stratigraph/core/tier";

/** How many questions may be unanswered at once. A further one begins only when one of them ends. */
const mostUnanswered = 3;

/** The state of one tier, fit for anybody to see: without an error's message, which may hold a host name or more. */
export interface ProbedTier {
  readonly name: string;
  readonly role: TierRole;
  readonly ok: boolean;
  /** How long it took to answer, or to fail. Milliseconds. */
  readonly ms: number;
  /** Why it isn't ok: a code of StratigraphError, or "ERROR" for what isn't one. */
  readonly code?: string;
}

/** Asks one tier whether it would serve now. On a tier that hangs, questions don't pile up. */
export class TierProbe {
  readonly role: TierRole;
  readonly #tier: Tier;
  #unanswered = 0;

  constructor(tier: Tier, role: TierRole) {
    this.#tier = tier;
    this.role = role;
  }

  /** Never rejects. @param timeoutMs how long it may take, in milliseconds */
  async ask(timeoutMs: number): Promise<ProbedTier> {
    const { name } = this.#tier;
    const { role } = this;
    const beganMs = performance.now();
    const taken = (): number => Math.round(performance.now() - beganMs);
    try {
      await answerWithin(
        timeoutMs,
        () => this.#question(),
        () => unanswered(),
      );
      return { name, role, ok: true, ms: taken() };
    } catch (error) {
      return { name, role, ok: false, ms: taken(), code: StratigraphError.is(error) ? error.code : "ERROR" };
    }
  }

  async #question(): Promise<void> {
    if (this.#unanswered >= mostUnanswered) throw unanswered();
    this.#unanswered += 1;
    try {
      // The tier that owns heads is asked for one: its connection may be fine, and its tables not.
      if (this.role === "warm") await this.#tier.peek({ threadId: probedThread, namespace: "" });
      else await pingTier(this.#tier);
    } finally {
      this.#unanswered -= 1;
    }
  }
}

/** No application's thread ids begin like this, so there is no such thread. */
const probedThread = "\u0001stratigraph.probe";

function unanswered(): StratigraphError {
  return new StratigraphError("UNAVAILABLE", "The tier gave no answer in time.");
}
