import { StratigraphError } from "@stratigraph/core";

/** The operations under way, so that they can be aborted. */
export class Running {
  readonly #controllers = new Set<AbortController>();
  readonly #most: number;
  #isClosed = false;

  /** @param most how many may run at once */
  constructor(most = 64) {
    this.#most = most;
  }

  /** How many are under way. */
  get size(): number {
    return this.#controllers.size;
  }

  /**
   * Runs something with a signal that is aborted when the client goes away, or the inspector ends.
   * @throws StratigraphError "CLOSED", "OVERLOADED"
   */
  async run<T>(client: AbortSignal, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const controller = this.#begin();
    const abort = (): void => controller.abort(client.reason);
    if (client.aborted) abort();
    client.addEventListener("abort", abort, { once: true });
    try {
      return await work(controller.signal);
    } finally {
      client.removeEventListener("abort", abort);
      this.#controllers.delete(controller);
    }
  }

  /** Aborts what is under way, and refuses what begins afterwards. */
  end(): void {
    this.#isClosed = true;
    for (const controller of this.#controllers) controller.abort(ended());
  }

  #begin(): AbortController {
    if (this.#isClosed) throw ended();
    if (this.#controllers.size >= this.#most)
      throw new StratigraphError(
        "OVERLOADED",
        `${this.#most} operations are under way. Wait for one of them.`,
      );
    const controller = new AbortController();
    this.#controllers.add(controller);
    return controller;
  }
}

/** The error for requests after the inspector was ended. */
function ended(): StratigraphError {
  return new StratigraphError("CLOSED", "This server was ended. Start it again.");
}
