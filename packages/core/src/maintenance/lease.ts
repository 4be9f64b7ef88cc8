import { randomUUID } from "node:crypto";
import { type Tier } from "../contract/tier.ts";
import { keepsLeases } from "../contract/tierExtensions.ts";

/** A lease that is prolonged until it is given back, where the tier keeps leases; elsewhere there is only us. */
export class Lease {
  readonly #tier: Tier;
  readonly #name: string;
  readonly #forMs: number;
  readonly #holder = randomUUID();
  #timer: NodeJS.Timeout | undefined;
  #untilMs = 0;

  /** @param forMs how long it stands after its holder died, in milliseconds */
  constructor(tier: Tier, name: string, forMs: number) {
    this.#tier = tier;
    this.#name = name;
    this.#forMs = forMs;
  }

  /** False where another holder has it. */
  async take(): Promise<boolean> {
    if (!(await this.#ask(this.#forMs))) return false;
    this.#timer = setInterval(() => void this.#prolong(), this.#forMs / 4);
    this.#timer.unref();
    return true;
  }

  /** Whether it is still ours: it may have run out in a process that slept. */
  get held(): boolean {
    return performance.now() < this.#untilMs;
  }

  async giveBack(): Promise<void> {
    clearInterval(this.#timer);
    // One that can't be given back runs out by itself; what was done under it counts all the same.
    await this.#ask(0).catch(() => undefined);
  }

  async #prolong(): Promise<void> {
    // A tier that can't be reached now may be reached a quarter of the time later.
    const kept = await this.#ask(this.#forMs).catch(() => undefined);
    if (kept === false) this.#untilMs = 0;
  }

  async #ask(forMs: number): Promise<boolean> {
    const askedMs = performance.now();
    const answer = !keepsLeases(this.#tier) || (await this.#tier.lease(this.#name, this.#holder, forMs));
    if (answer && forMs > 0) this.#untilMs = askedMs + forMs;
    return answer;
  }
}
