/** A call that waits in a FaultyTier until a test lets it go on. */
export class Hold {
  /** Resolves once a call waits here. */
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

  /** Lets the call go on; before it came, it will not stop at all. */
  release(): void {
    this.#release();
  }

  /** What the held call does. */
  async wait(): Promise<void> {
    this.#reach();
    await this.#released;
  }
}
