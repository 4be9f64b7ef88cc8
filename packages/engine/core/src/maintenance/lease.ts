import { randomUUID } from "node:crypto";
import { type Tier } from "../contract/tier.ts";
import { keepsLeases } from "../contract/tierExtensions.ts";
import { stopwatch } from "../contract/stopwatch.ts";
import { Renewal } from "./renewal.ts";

/** A lease that is prolonged until it is given back. If the tier keeps no leases, everybody gets it. */
export class Lease {
  readonly #tier: Tier;
  readonly #name: string;
  readonly #forMs: number;
  readonly #holder = randomUUID();
  readonly #renewal: Renewal;

  /** @param forMs how long the lease lasts after its holder died, in milliseconds */
  constructor(tier: Tier, name: string, forMs: number) {
    this.#tier = tier;
    this.#name = name;
    this.#forMs = forMs;
    const renew = async (): Promise<string | undefined> =>
      (await this.#ask(forMs)) ? undefined : "another has it";
    this.#renewal = new Renewal({ forMs, times: 4, renew });
  }

  /** Takes the lease; false if another holder has it, or may have it, as the answer came too late. */
  async take(): Promise<boolean> {
    const ageMs = stopwatch();
    if (!(await this.#ask(this.#forMs))) return false;
    this.#renewal.begin(ageMs);
    return this.held;
  }

  /** Whether this holder still has it: it may have expired while the process was suspended. */
  get held(): boolean {
    return this.#renewal.isHeld;
  }

  async giveBack(): Promise<void> {
    this.#renewal.stop();
    // A lease that can't be given back expires by itself, and the work under it is done: no reason to fail.
    await this.#ask(0).catch(() => undefined);
  }

  async #ask(forMs: number): Promise<boolean> {
    return !keepsLeases(this.#tier) || (await this.#tier.lease(this.#name, this.#holder, forMs));
  }
}
