import { closedError } from "@stratigraph/core";

/** Counts the calls under way, so that who closes something can wait for them, and refuses those that come later. */
export class CallGate {
  readonly #tier: string;
  readonly #idle: (() => void)[] = [];
  #underWay = 0;
  #closed = false;

  constructor(tier: string) {
    this.#tier = tier;
  }

  /** @throws StratigraphError "CLOSED"; what the call throws */
  async run<T>(call: () => Promise<T>): Promise<T> {
    if (this.#closed) throw closedError(this.#tier);
    this.#underWay += 1;
    try {
      return await call();
    } finally {
      this.#underWay -= 1;
      if (this.#underWay === 0) for (const resolve of this.#idle.splice(0)) resolve();
    }
  }

  /** An iteration, each step of it a call: one that its consumer left half-way holds nobody up. */
  async *iterate<T>(open: () => AsyncIterable<T>): AsyncGenerator<T> {
    const items = await this.run(async () => open()[Symbol.asyncIterator]());
    try {
      for (;;) {
        const next = await this.run(() => items.next());
        if (next.done === true) return;
        yield next.value;
      }
    } finally {
      await items.return?.();
    }
  }

  /** Refuses calls from now on. Resolves when none is under way. */
  async close(): Promise<void> {
    this.#closed = true;
    if (this.#underWay === 0) return;
    await new Promise<void>((resolve) => {
      this.#idle.push(resolve);
    });
  }
}
