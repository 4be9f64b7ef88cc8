/** One piece of background work on a thread. */
export interface CopyJob {
  /** How many bytes it holds in memory while it waits. */
  readonly bytes: number;
  /** A job isn't added if one with the same key is already waiting for the same thread. */
  readonly key?: string | undefined;
  /** Does the work. Resolves to false if that failed, and never rejects. */
  readonly run: () => Promise<boolean>;
}

/** Limits of a queue. */
export interface QueueLimits {
  /** How many jobs may wait. */
  readonly maxJobs: number;
  /** How many bytes waiting jobs may hold. */
  readonly maxBytes: number;
  /** For how many threads jobs run at the same time. */
  readonly parallel: number;
}

/**
 * Runs background jobs, those of one thread in order. The number of jobs and bytes is limited. Jobs beyond the limits are dropped and
 * counted.
 */
export class CopyQueue {
  readonly #limits: QueueLimits;
  readonly #onDrop: (count: number) => void;
  readonly #onChange: (jobs: number, bytes: number) => void;
  /** Jobs by thread; threads are served in order of arrival. */
  readonly #waiting = new Map<string, CopyJob[]>();
  readonly #busy = new Map<string, Promise<void>>();
  readonly #idle: (() => void)[] = [];
  #jobs = 0;
  #bytes = 0;
  #closed = false;

  /**
   * @param onDrop called with the number of jobs that were dropped
   * @param onChange called with the number of waiting jobs, and of the bytes that they hold, whenever these change
   */
  constructor(
    limits: QueueLimits,
    onDrop: (count: number) => void,
    onChange: (jobs: number, bytes: number) => void,
  ) {
    this.#limits = limits;
    this.#onDrop = onDrop;
    this.#onChange = onChange;
  }

  /** How many jobs wait, without those that are running. */
  get size(): number {
    return this.#jobs;
  }

  /** How many bytes waiting jobs hold. */
  get bytes(): number {
    return this.#bytes;
  }

  /** For how many threads a job runs. */
  get running(): number {
    return this.#busy.size;
  }

  push(threadId: string, job: CopyJob): void {
    const jobs = this.#waiting.get(threadId) ?? [];
    if (job.key !== undefined && jobs.some(({ key }) => key === job.key)) return;
    if (
      this.#closed ||
      this.#jobs >= this.#limits.maxJobs ||
      this.#bytes + job.bytes > this.#limits.maxBytes
    ) {
      this.#onDrop(1);
      return;
    }
    jobs.push(job);
    this.#waiting.set(threadId, jobs);
    this.#jobs += 1;
    this.#bytes += job.bytes;
    this.#onChange(this.#jobs, this.#bytes);
    this.#serve();
  }

  /** Removes a thread's waiting jobs without counting them as dropped. Resolves when the running job is done. */
  async discard(threadId: string): Promise<void> {
    for (const job of this.#waiting.get(threadId) ?? []) this.#left(job);
    this.#waiting.delete(threadId);
    await this.#busy.get(threadId);
    this.#settle();
  }

  /** Resolves when no job waits or runs. */
  async idle(): Promise<void> {
    if (this.#jobs === 0 && this.#busy.size === 0) return;
    await new Promise<void>((resolve) => {
      this.#idle.push(resolve);
    });
  }

  /** Drops all waiting and all later jobs. Running jobs continue. */
  close(): void {
    this.#closed = true;
    this.#onDrop(this.#jobs);
    this.#waiting.clear();
    this.#jobs = 0;
    this.#bytes = 0;
    this.#onChange(0, 0);
    this.#settle();
  }

  #left(job: CopyJob): void {
    this.#jobs -= 1;
    this.#bytes -= job.bytes;
    this.#onChange(this.#jobs, this.#bytes);
  }

  #serve(): void {
    for (const threadId of this.#waiting.keys()) {
      if (this.#busy.size >= this.#limits.parallel) return;
      if (!this.#busy.has(threadId)) this.#busy.set(threadId, this.#work(threadId));
    }
  }

  async #work(threadId: string): Promise<void> {
    // Let the caller continue first, but begin before the event loop does anything else, so that the next reader finds the copy.
    await new Promise<void>((resolve) => {
      process.nextTick(resolve);
    });
    for (let job = this.#take(threadId); job !== undefined; job = this.#take(threadId)) {
      if (!(await job.run())) this.#onDrop(1);
    }
    this.#busy.delete(threadId);
    this.#serve();
    this.#settle();
  }

  #take(threadId: string): CopyJob | undefined {
    const jobs = this.#waiting.get(threadId);
    const job = jobs?.shift();
    if (job === undefined) return undefined;
    if (jobs!.length === 0) this.#waiting.delete(threadId);
    this.#left(job);
    return job;
  }

  #settle(): void {
    if (this.#jobs === 0 && this.#busy.size === 0) for (const resolve of this.#idle.splice(0)) resolve();
  }
}
