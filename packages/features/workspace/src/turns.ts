import { AsyncLocalStorage } from "node:async_hooks";

/** Lets those who want the same thing go one after another, in this process. */
export class Turns {
  readonly #last = new Map<string, Promise<unknown>>();
  /** Whether the code that runs has a turn. */
  readonly #has = new AsyncLocalStorage<true>();

  async take<T>(name: string, work: () => Promise<T>): Promise<T> {
    // Work that waits for a turn while it has one could wait for itself.
    if (this.#has.getStore() === true) return await work();
    const before = this.#last.get(name);
    const mine = (async () => {
      await before?.catch(() => {});
      return await this.#has.run(true, work);
    })();
    this.#last.set(name, mine);
    try {
      return await mine;
    } finally {
      if (this.#last.get(name) === mine) this.#last.delete(name);
    }
  }
}
