import { endsWithin } from "./answerWithin.ts";
import { closedError } from "./errors.ts";

/** Counts the calls under way, so that closing can wait for them, and refuses those that come later. */
export class CallGate {
  readonly #tier: string;
  readonly #idle: (() => void)[] = [];
  #underWay = 0;
  #closed = false;

  /** @param tier its name, for errors */
  constructor(tier: string) {
    this.#tier = tier;
  }

  /** How many calls are under way. */
  get underWay(): number {
    return this.#underWay;
  }

  /** @throws StratigraphError "CLOSED"; what the call throws */
  async run<T>(call: () => Promise<T>): Promise<T> {
    const leave = this.enter();
    try {
      return await call();
    } finally {
      leave();
    }
  }

  /** An iteration of which each step is a call. So an iteration that its consumer left half-way delays nobody. */
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

  /** Lets a call in. Returns the function that ends it, once. @throws StratigraphError "CLOSED" */
  enter(): () => void {
    if (this.#closed) throw closedError(this.#tier);
    return this.#hold();
  }

  /** Counts work that nobody waits for any more until it has ended, so that it can't pile up unseen. Works after {@link close}, too. */
  keep(work: Promise<unknown>): void {
    const leave = this.#hold();
    work.then(leave, leave);
  }

  /** Refuses calls from now on. Resolves when none is under way, at the latest after `forMs` milliseconds. May be called again. */
  async close(forMs: number): Promise<void> {
    this.#closed = true;
    if (this.#underWay === 0) return;
    await endsWithin(forMs, () => new Promise<void>((resolve) => this.#idle.push(resolve)));
  }

  #hold(): () => void {
    this.#underWay += 1;
    return () => {
      this.#underWay -= 1;
      if (this.#underWay === 0) for (const resolve of this.#idle.splice(0)) resolve();
    };
  }
}
