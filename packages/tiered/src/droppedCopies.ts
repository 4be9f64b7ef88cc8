import { trace } from "@stratigraph/core";

/** Shortest time between two events of one kind, in milliseconds. */
const quietMs = 1000;

/** What happened of one kind since its last event. */
interface Untold {
  count: number;
  readonly timer: NodeJS.Timeout;
}

/**
 * Counts what a tier gave up, and tells of it: the first time at once, then once a second with how many there were. So an
 * outage is a few events, and not one per copy.
 */
export class DroppedCopies {
  readonly #tier: string;
  /** By kind, for as long as no event of it is due. */
  readonly #quiet = new Map<string, Untold>();
  #total = 0;

  constructor(tier: string) {
    this.#tier = tier;
  }

  get total(): number {
    return this.#total;
  }

  add(count: number, what: string): void {
    if (count === 0) return;
    this.#total += count;
    const untold = this.#quiet.get(what);
    if (untold === undefined) this.#tell(count, what);
    else untold.count += count;
  }

  /** Tells what wasn't told yet. */
  flush(): void {
    for (const [what, { count, timer }] of this.#quiet) {
      clearTimeout(timer);
      if (count > 0) trace({ type: "dropped", tier: this.#tier, what, count });
    }
    this.#quiet.clear();
  }

  #tell(count: number, what: string): void {
    trace({ type: "dropped", tier: this.#tier, what, count });
    const timer = setTimeout(() => {
      const untold = this.#quiet.get(what)!;
      this.#quiet.delete(what);
      if (untold.count > 0) this.#tell(untold.count, what);
    }, quietMs);
    timer.unref();
    this.#quiet.set(what, { count: 0, timer });
  }
}
