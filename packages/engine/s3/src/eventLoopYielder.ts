import { setImmediate as turn } from "node:timers/promises";

/** How long work may hold the event loop at a time, in milliseconds. Other requests may have to wait that long. */
const stretchMs = 1;

/** Gives the event loop turns during long work. Otherwise a thread of a thousand entries would hold up every other request. */
export class EventLoopYielder {
  #sinceMs = performance.now();

  /** Gives the event loop a turn if one is due. Call it between entries. */
  async yieldIfDue(): Promise<void> {
    if (performance.now() - this.#sinceMs < stretchMs) return;
    await turn();
    this.#sinceMs = performance.now();
  }
}
