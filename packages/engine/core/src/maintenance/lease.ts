import { randomUUID } from "node:crypto";
import { type Tier } from "../contract/tier.ts";
import { keepsLeases } from "../contract/tierExtensions.ts";

/** A lease that is prolonged until it is given back. If the tier keeps no leases, everybody gets it. */
export class Lease {
  readonly #tier: Tier;
  readonly #name: string;
  readonly #forMs: number;
  readonly #holder = randomUUID();
  #timer: NodeJS.Timeout | undefined;
  #untilMs = 0;

  /** @param forMs how long the lease lasts after its holder died, in milliseconds */
  constructor(tier: Tier, name: string, forMs: number) {
    this.#tier = tier;
    this.#name = name;
    this.#forMs = forMs;
  }

  /** Takes the lease; false if another holder has it. */
  async take(): Promise<boolean> {
    if (!(await this.#ask(this.#forMs))) return false;
    this.#timer = setInterval(() => void this.#prolong(), this.#forMs / 4);
    this.#timer.unref();
    return true;
  }

  /** Whether this holder still has it: it may have expired while the process was suspended. */
  get held(): boolean {
    return performance.now() < this.#untilMs;
  }

  async giveBack(): Promise<void> {
    clearInterval(this.#timer);
    // A lease that can't be given back expires by itself, and the work under it is done: no reason to fail.
    await this.#ask(0).catch(() => undefined);
  }

  async #prolong(): Promise<void> {
    // If the tier can't be reached now, the next attempts may still come in time.
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
