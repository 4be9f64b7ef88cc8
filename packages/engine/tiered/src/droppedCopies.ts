import { trace } from "@stratigraph/core/internal";

/** The shortest time between two events of one kind, in milliseconds. */
const quietMs = 1000;

/** Drops of one kind that no event has reported yet. */
interface Untold {
  count: number;
  readonly timer: NodeJS.Timeout;
}

/**
 * Counts the copies that a tier dropped, and traces them: the first drop at once, later ones together once a second. So an outage is
 * a few events and not one per copy.
 */
export class DroppedCopies {
  readonly #tier: string;
  /** Drops by kind. Holds a kind until its next event is due. */
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

  /** Traces the drops that no event has reported yet. */
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
