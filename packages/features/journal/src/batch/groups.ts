/** Runs the work of an item when it is the item's turn. */
export type Turn = (work: () => Promise<unknown>) => Promise<unknown>;

/** Makes the call of an item, whose work waits for its turn. */
type Make<T> = (item: T, turn: Turn) => Promise<void>;

/** Thrown at the turn of an item that is no longer worked on. The item certainly did nothing. */
export const notBegun = Object.assign(new Error("the batch was ended before the item began"), {
  certain: true,
});

/**
 * Works on items in groups. The items of a group are claimed together, and their outcomes are recorded together, so that a group takes two
 * appends, however many items it has.
 */
export async function inGroups<T>(
  items: readonly T[],
  { size, parallel, signal }: { size: number; parallel: number; signal: AbortSignal | undefined },
  make: Make<T>,
): Promise<void> {
  for (let from = 0; from < items.length; from += size) {
    if (signal?.aborted === true) return;
    const group = items.slice(from, from + size);
    const gate = new Gate(group.length, parallel, signal);
    await allOf(group.map((item) => gate.pass((turn) => make(item, turn))));
  }
}

/** Waits for all, even if one of them fails. @throws the first error */
async function allOf(parts: readonly Promise<void>[]): Promise<void> {
  for (const part of await Promise.allSettled(parts)) if (part.status === "rejected") throw part.reason;
}

/** Limits how many items of a group work at the same time, and lets all of them leave together. */
class Gate {
  #working = 0;
  #missing: number;
  readonly #parallel: number;
  readonly #signal: AbortSignal | undefined;
  readonly #waiting: (() => void)[] = [];
  #leave!: () => void;
  readonly #leaving = new Promise<void>((resolve) => (this.#leave = resolve));

  constructor(items: number, parallel: number, signal: AbortSignal | undefined) {
    this.#missing = items;
    this.#parallel = parallel;
    this.#signal = signal;
  }

  /** Makes the call of an item. A call that ends without a turn isn't waited for. */
  async pass(make: (turn: Turn) => Promise<void>): Promise<void> {
    let arrived = false;
    const arrive = (): void => {
      if (arrived) return;
      arrived = true;
      this.#missing -= 1;
      if (this.#missing === 0) this.#leave();
    };
    try {
      await make(async (work) => {
        try {
          return await this.#worked(work);
        } finally {
          arrive();
          await this.#leaving;
        }
      });
    } finally {
      arrive();
    }
  }

  async #worked(work: () => Promise<unknown>): Promise<unknown> {
    while (this.#working >= this.#parallel)
      await new Promise<void>((resolve) => void this.#waiting.push(resolve));
    if (this.#signal?.aborted === true) {
      this.#waiting.shift()?.();
      throw notBegun;
    }
    this.#working += 1;
    try {
      return await work();
    } finally {
      this.#working -= 1;
      this.#waiting.shift()?.();
    }
  }
}
