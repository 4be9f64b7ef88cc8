import type { LockState } from "../contract/tierExtensions.ts";

/** The last known holder of a lock. */
export type Holder = Pick<LockState, "holder" | "sinceMs">;

interface Queue {
  readonly waiting: (() => void)[];
  holder?: Holder;
}

/** Those of this process that wait for the same lock, first come first served: only the first of them asks the storage. */
export class LockTurns {
  readonly #queues = new Map<string, Queue>();

  /**
   * Waits until it is the caller's turn. Returns a function that ends the turn; undefined if the signal was aborted first.
   * @param signal bounds the waiting
   */
  async take(lock: string, signal: AbortSignal): Promise<(() => void) | undefined> {
    const queue = this.#queues.get(lock);
    if (queue === undefined) {
      this.#queues.set(lock, { waiting: [] });
      return this.#ending(lock);
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
    return isMine ? this.#ending(lock) : undefined;
  }

  /** Notes who has the lock, for those who wait. */
  note(lock: string, holder: Holder): void {
    const queue = this.#queues.get(lock);
    if (queue !== undefined) queue.holder = holder;
  }

  /** The holder of the lock, as the storage last reported it. */
  holderOf(lock: string): Holder | undefined {
    return this.#queues.get(lock)?.holder;
  }

  #ending(lock: string): () => void {
    return () => {
      const next = this.#queues.get(lock)?.waiting.shift();
      if (next === undefined) this.#queues.delete(lock);
      else next();
    };
  }
}
