import { setImmediate as turn } from "node:timers/promises";

/** Longest stretch of work between two turns of the event loop, in milliseconds: what others may have to wait for it. */
const stretchMs = 1;

/** Lets the event loop turn during long work. A thread of a thousand items would else hold up every other request. */
export class EventLoopYielder {
  #sinceMs = performance.now();

  /** To be called between items. */
  async yieldIfDue(): Promise<void> {
    if (performance.now() - this.#sinceMs < stretchMs) return;
    await turn();
    this.#sinceMs = performance.now();
  }
}
