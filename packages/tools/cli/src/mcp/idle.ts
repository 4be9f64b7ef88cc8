/** Notices when a storage hasn't been needed for a while: nothing runs, and nobody asked for it. */
export class Idle {
  readonly #running: () => number;
  readonly #afterMs: number;
  readonly #then: () => void;
  #timer: NodeJS.Timeout | undefined;

  /** @param running how many calls are under way */
  constructor(running: () => number, afterMs: number, then: () => void) {
    this.#running = running;
    this.#afterMs = afterMs;
    this.#then = then;
  }

  /** It was needed just now. */
  touch(): void {
    this.end();
    this.#timer = setTimeout(() => {
      // A call may take longer than that. Its end touches this again.
      if (this.#running() === 0) this.#then();
    }, this.#afterMs).unref();
  }

  end(): void {
    clearTimeout(this.#timer);
  }
}
