/** How much one maintenance may do, shared by its tasks. */
export class Batch {
  /** True if nothing may be changed: tasks only report what they would do. */
  readonly dryRun: boolean;
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

  /** Charges one thread; false if the batch is used up. */
  take(): boolean {
    if (this.#left === 0) return false;
    this.#left -= 1;
    return true;
  }
}
