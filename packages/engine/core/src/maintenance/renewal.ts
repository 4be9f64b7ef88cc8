import { stopwatch, unstarted } from "../contract/stopwatch.ts";

/** What is renewed, and how. */
export interface Renewed {
  /** How long it lasts after its holder's last sign of life, in milliseconds. */
  readonly forMs: number;
  /** How often it is renewed in that time. */
  readonly times: number;
  /** Asks the storage. Resolves to why it is lost, or to undefined. If it rejects, the next attempts may still come in time. */
  renew(): Promise<string | undefined>;
  /** Called once, when it is lost. */
  onLost?(why: string): void;
}

/**
 * Renews what a storage gives for a time: a lease, a lock. It never ends in the storage before it ends here, because its time counts here
 * from before each request.
 */
export class Renewal {
  readonly #renewed: Renewed;
  /** Since the last request was begun that got it. */
  #ageMs = unstarted;
  #isOver = false;
  #renewing: NodeJS.Timeout | undefined;
  #expiring: NodeJS.Timeout | undefined;

  constructor(renewed: Renewed) {
    this.#renewed = renewed;
  }

  /** Begins. @param ageMs since the request that got it was begun */
  begin(ageMs: () => number): void {
    this.#extend(ageMs);
    this.#renewing = setInterval(() => void this.#renew(), this.#renewed.forMs / this.#renewed.times);
    this.#renewing.unref();
  }

  /** Whether it is held for certain. Right too in a process that was suspended, or on a machine that slept, whose timers have yet to fire. */
  get isHeld(): boolean {
    return this.#ageMs() < this.#renewed.forMs;
  }

  /** No request is begun any more. One may be on its way. */
  stop(): void {
    this.#isOver = true;
    clearInterval(this.#renewing);
    clearTimeout(this.#expiring);
  }

  async #renew(): Promise<void> {
    const ageMs = stopwatch();
    let lost: string | undefined;
    try {
      lost = await this.#renewed.renew();
    } catch {
      return;
    }
    if (this.#isOver) return;
    if (lost === undefined) this.#extend(ageMs);
    else this.#lose(lost);
  }

  #extend(ageMs: () => number): void {
    if (ageMs() < this.#ageMs()) this.#ageMs = ageMs;
    clearTimeout(this.#expiring);
    this.#expiring = setTimeout(
      () => this.#lose("it couldn't be renewed in time"),
      Math.max(0, this.#renewed.forMs - this.#ageMs()),
    );
    this.#expiring.unref();
  }

  #lose(why: string): void {
    this.#ageMs = unstarted;
    this.stop();
    this.#renewed.onLost?.(why);
  }
}
