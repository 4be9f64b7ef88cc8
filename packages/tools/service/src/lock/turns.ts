import type { LockState } from "@stratigraph/core/tier";

/** The last known holder of a thread's lock. */
export type Holder = Pick<LockState, "holder" | "sinceMs">;

interface Queue {
  readonly waiting: (() => void)[];
  holder?: Holder;
}

/**
 * Runs of this process that wait for the same thread, first come first served: only the first of them asks the storage, however many
 * there are.
 */
export class Turns {
  readonly #queues = new Map<string, Queue>();

  /**
   * Waits until it is this run's turn. Returns a function that ends the turn; undefined if the signal was aborted first.
   * @param signal bounds the waiting
   */
  async take(threadId: string, signal: AbortSignal): Promise<(() => void) | undefined> {
    const queue = this.#queues.get(threadId);
    if (queue === undefined) {
      this.#queues.set(threadId, { waiting: [] });
      return this.#ending(threadId);
    }
    const { waiting } = queue;
    const isMine = await new Promise<boolean>((resolve) => {
      const next = (): void => {
        signal.removeEventListener("abort", leave);
        resolve(true);
      };
      const leave = (): void => {
        waiting.splice(waiting.indexOf(next), 1);
        resolve(false);
      };
      if (signal.aborted) return resolve(false);
      signal.addEventListener("abort", leave, { once: true });
      waiting.push(next);
    });
    return isMine ? this.#ending(threadId) : undefined;
  }

  /** Notes who has the lock, for those who wait. */
  note(threadId: string, holder: Holder): void {
    const queue = this.#queues.get(threadId);
    if (queue !== undefined) queue.holder = holder;
  }

  /** The holder of the lock, as the storage last reported it. */
  holderOf(threadId: string): Holder | undefined {
    return this.#queues.get(threadId)?.holder;
  }

  #ending(threadId: string): () => void {
    return () => {
      const next = this.#queues.get(threadId)?.waiting.shift();
      if (next === undefined) this.#queues.delete(threadId);
      else next();
    };
  }
}
