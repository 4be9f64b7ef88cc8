import { AsyncLocalStorage } from "node:async_hooks";

/** Lets those who want the same thing go one after another, in this process. */
export class Turns {
  readonly #last = new Map<string, Promise<unknown>>();
  /** Whose turn it is, where this code runs. */
  readonly #had = new AsyncLocalStorage<readonly string[]>();

  async take<T>(name: string, work: () => Promise<T>): Promise<T> {
    const had = this.#had.getStore() ?? [];
    // Work that waits for a turn while it has one could wait for itself.
    if (had.length > 0) return await work();
    const before = this.#last.get(name);
    const mine = (async () => {
      await before?.catch(() => {});
      return await this.#had.run([...had, name], work);
    })();
    this.#last.set(name, mine);
    try {
      return await mine;
    } finally {
      if (this.#last.get(name) === mine) this.#last.delete(name);
    }
  }
}
