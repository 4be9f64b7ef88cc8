/** Counts how often each node ran, by name. */
export class Calls {
  readonly #names: string[] = [];

  /** Notes one call. */
  add(name: string): void {
    this.#names.push(name);
  }

  /** How often `name` was called. */
  count(name: string): number {
    return this.#names.filter((called) => called === name).length;
  }

  /** All calls in order; forgets them. */
  take(): string[] {
    return this.#names.splice(0);
  }
}
