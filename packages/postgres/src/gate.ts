import { StratigraphError } from "@stratigraph/core";
import { within } from "./bounds.ts";

/** Lets calls in: so many at once, and none once it is closed. */
export class Gate {
  readonly #tier: string;
  readonly #most: number;
  #inside = 0;
  #closed = false;
  #emptied: (() => void) | undefined;

  /** @param most calls that may be inside at once */
  constructor(tier: string, most: number) {
    this.#tier = tier;
    this.#most = most;
  }

  /** Does a call inside. @throws StratigraphError "CLOSED", "OVERLOADED" */
  async pass<T>(work: () => Promise<T>): Promise<T> {
    const leave = this.enter();
    try {
      return await work();
    } finally {
      leave();
    }
  }

  /** Lets a call in. Returns how it leaves. @throws StratigraphError "CLOSED", "OVERLOADED" */
  enter(): () => void {
    if (this.#closed) throw closedError(this.#tier);
    if (this.#inside >= this.#most) {
      throw new StratigraphError(
        "OVERLOADED",
        `${this.#most} calls wait for PostgreSQL already. Slow the writers down, give the pool more connections, or raise maxQueue.`,
        { tier: this.#tier, maxQueue: this.#most },
      );
    }
    return this.#hold();
  }

  /** Counts a statement that nobody waits for any more until its driver lets go of it: such ones too must not pile up. */
  keep(statement: Promise<unknown>): void {
    const leave = this.#hold();
    statement.then(leave, leave);
  }

  #hold(): () => void {
    this.#inside += 1;
    return () => {
      this.#inside -= 1;
      if (this.#inside === 0) this.#emptied?.();
    };
  }

  /** Lets nobody in any more; resolves once all are out, at the latest after `ms`. */
  async close(ms: number): Promise<void> {
    this.#closed = true;
    if (this.#inside === 0) return;
    const empty = new Promise<void>((resolve) => (this.#emptied = resolve));
    await within(empty, ms).catch(() => undefined);
  }
}

/** For calls that come after `end()`. */
export function closedError(tier: string, cause?: unknown): StratigraphError {
  return new StratigraphError(
    "CLOSED",
    "The connection to the database was closed by end() before this call. Let runs come to their end first, then call end(); or make a new checkpointer.",
    { tier },
    cause,
  );
}
