/** Holds one call of a FaultyTier until a test releases it. */
export class Hold {
  /** Resolves when the call has arrived and waits. */
  readonly reached: Promise<void>;
  readonly #released: Promise<void>;
  #reach: () => void = () => {};
  #release: () => void = () => {};

  constructor() {
    this.reached = new Promise((resolve) => {
      this.#reach = resolve;
    });
    this.#released = new Promise((resolve) => {
      this.#release = resolve;
    });
  }

  /** Lets the call continue. If it hasn't arrived yet, it won't wait at all. */
  release(): void {
    this.#release();
  }

  /** Waits until release(). The held call calls this. */
  async wait(): Promise<void> {
    this.#reach();
    await this.#released;
  }
}
