import { StratigraphError } from "@stratigraph/core";
import { answerWithin } from "@stratigraph/core/internal";

/** Limits on waiting for a turn. */
export interface MutexBounds {
  /** How long a call waits, in milliseconds. */
  readonly waitMs: number;
  /** How many calls may wait for one thread at the same time. */
  readonly maxWaiting: number;
}

/** A call waits for its turn as long as it may then contend for the head. No thread normally has so many waiting calls. */
const usual: MutexBounds = { waitMs: 60_000, maxWaiting: 1000 };

/** Runs one call at a time per thread, in the order of arrival. */
export class Mutex {
  readonly #bounds: MutexBounds;
  /** Waiting calls by thread. A thread has an entry while a call is running. */
  readonly #waiting = new Map<string, (() => void)[]>();

  constructor(bounds: MutexBounds = usual) {
    this.#bounds = bounds;
  }

  /** @throws StratigraphError "OVERLOADED" if this call waits too long or too many calls wait; `work` wasn't started then */
  async run<T>(threadId: string, work: () => Promise<T>): Promise<T> {
    await this.#enter(threadId);
    try {
      return await work();
    } finally {
      this.#leave(threadId);
    }
  }

  async #enter(threadId: string): Promise<void> {
    const waiting = this.#waiting.get(threadId);
    if (waiting === undefined) {
      this.#waiting.set(threadId, []);
      return;
    }
    const { waitMs, maxWaiting } = this.#bounds;
    if (waiting.length >= maxWaiting)
      throw refusal(threadId, `${maxWaiting} calls of this process wait for it already`, this.#bounds);
    let enter = (): void => undefined;
    const turn = () => new Promise<void>((resolve) => waiting.push((enter = resolve)));
    const late = (): Error => {
      waiting.splice(waiting.indexOf(enter), 1);
      return refusal(threadId, `other calls of this process held it for ${waitMs} ms`, this.#bounds);
    };
    await answerWithin(waitMs, turn, late);
  }

  #leave(threadId: string): void {
    const next = this.#waiting.get(threadId)?.shift();
    if (next === undefined) this.#waiting.delete(threadId);
    else next();
  }
}

function refusal(threadId: string, why: string, bounds: MutexBounds): StratigraphError {
  return new StratigraphError(
    "OVERLOADED",
    `Thread ${JSON.stringify(threadId)}: ${why}, and changes of a thread are made one after the other. Nothing of this call was ` +
      `tried. Repeat it later; if this stays, the storage is slow, or too many runs share the thread.`,
    { threadId, ...bounds },
  );
}
