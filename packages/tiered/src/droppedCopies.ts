import { trace } from "@stratigraph/core";

/** Shortest time between two events of one kind, in milliseconds. */
const quietMs = 1000;

/** Drops of one kind since their last event. */
interface Untold {
  count: number;
  readonly timer: NodeJS.Timeout;
}

/**
 * Counts copies that a tier dropped, and traces them: the first drop at once, later ones together once a second, so that an
 * outage is a few events rather than one per copy.
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

  /** Traces the drops that no event has told of yet. */
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
