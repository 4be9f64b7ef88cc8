/** How much one maintenance may do, shared by its tasks. */
export class Batch {
  /** True if nothing may be changed: tasks only report what they would do. */
  readonly dryRun: boolean;
  /** Errors of threads that are left out because what names them is damaged, by message. They don't keep the others from their turn. */
  readonly damaged = new Map<string, Error>();
  #left: number;

  /** @param threads how many threads are looked at or changed at most */
  constructor(threads: number, dryRun: boolean) {
    this.#left = threads;
    this.dryRun = dryRun;
  }

  /** How many threads are left. */
  get left(): number {
    return this.#left;
  }

  /** Notes a thread that is left out: a query's `onDamaged`. */
  readonly onDamaged = (error: Error): void => void this.damaged.set(error.message, error);

  /** Charges one thread; false if the batch is used up. */
  take(): boolean {
    if (this.#left === 0) return false;
    this.#left -= 1;
    return true;
  }
}
