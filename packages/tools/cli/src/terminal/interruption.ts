import { exitCodes } from "./exitCodes.ts";
import type { Terminal } from "./terminal.ts";

/** Aborts at the first Ctrl-C (or SIGTERM): the operation then finishes what is under way. Ends the process at the second. */
export class Interruption {
  readonly #controller = new AbortController();
  readonly #listener: () => void;

  /** @param beforeMessage called before something is written, to remove a line of progress */
  constructor(terminal: Terminal, beforeMessage: () => void) {
    this.#listener = () => {
      if (this.signal.aborted) process.exit(exitCodes.interrupted);
      beforeMessage();
      terminal.stderr.write("Finishing what is under way. Ctrl-C again ends at once.\n");
      this.#controller.abort();
    };
    process.on("SIGINT", this.#listener);
    process.on("SIGTERM", this.#listener);
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Stops listening. */
  end(): void {
    process.off("SIGINT", this.#listener);
    process.off("SIGTERM", this.#listener);
  }
}
