/** Who waits for something of a name to happen. */
export class Waiters {
  readonly #waiting = new Map<string, Set<() => void>>();

  /** Whether nobody waits. */
  get isEmpty(): boolean {
    return this.#waiting.size === 0;
  }

  /** Resolves when the name is woken, or the signal aborted. */
  async wait(name: string, signal: AbortSignal): Promise<void> {
    if (signal.aborted) return;
    const waiting = this.#waiting.get(name) ?? new Set();
    this.#waiting.set(name, waiting);
    const stopped = new AbortController();
    await new Promise<void>((resolve) => {
      const end = (): void => {
        waiting.delete(end);
        if (waiting.size === 0 && this.#waiting.get(name) === waiting) this.#waiting.delete(name);
        stopped.abort();
        resolve();
      };
      waiting.add(end);
      signal.addEventListener("abort", end, { once: true, signal: stopped.signal });
    });
  }

  wake(name: string): void {
    for (const end of this.#waiting.get(name) ?? []) end();
  }

  wakeAll(): void {
    for (const name of this.#waiting.keys()) this.wake(name);
  }
}
