import type { Tier } from "@stratigraph/core";

/** Methods that change nothing of a thread: a lost answer of these is as if they had never been asked. */
const reading = new Set(
  "peek read list threads blobs strays inspect keyChecks claimKeyCheck someThreads tombstones".split(" "),
);
const iterating = new Set(["list", "threads", "someThreads", "tombstones", "leftovers"]);

/** How the last call of a process ends: it never reached the storage, or it took effect and the answer was lost. */
export interface Death {
  /** 1 for the first call. */
  readonly at: number;
  readonly how: "before" | "after";
}

/** A process whose tiers share one life: it ends at the n-th call that any of them is given, and every later call fails. */
export class Life {
  /** The methods that were called, in order. */
  readonly calls: string[] = [];
  readonly #dies: Death | undefined;
  #isOver = false;

  constructor(dies?: Death) {
    this.#dies = dies;
  }

  /** Ends it now, from within an effect. @throws Error */
  end(): never {
    this.#isOver = true;
    throw died();
  }

  /** What the process still does after it ended is done by nobody. @throws Error */
  lives(): void {
    if (this.#isOver) throw died();
  }

  /** Whether it ended. */
  get isOver(): boolean {
    return this.#isOver;
  }

  /** Which of the calls are worth a death "after": those that change something. */
  get changes(): number[] {
    return this.calls.flatMap((method, n) => (reading.has(method) ? [] : [n + 1]));
  }

  /** A tier as this process has it. */
  of<T extends Tier>(tier: T): T {
    return new Proxy(tier, {
      get: (target, name) => {
        const value: unknown = Reflect.get(target, name, target);
        if (typeof value !== "function" || typeof name !== "string") return value;
        const call = (...args: unknown[]): unknown => Reflect.apply(value, target, args);
        if (iterating.has(name))
          return (...args: unknown[]) => this.#iterated(name, () => call(...args) as AsyncIterable<unknown>);
        return async (...args: unknown[]) => {
          const isLast = this.#begins(name);
          const answer: unknown = await call(...args);
          if (isLast) throw died();
          return answer;
        };
      },
    });
  }

  async *#iterated(name: string, open: () => AsyncIterable<unknown>): AsyncGenerator<unknown> {
    const isLast = this.#begins(name);
    yield* open();
    if (isLast) throw died();
  }

  /** Counts a call. Returns whether its answer is lost. */
  #begins(method: string): boolean {
    this.lives();
    this.calls.push(method);
    const { at = Number.POSITIVE_INFINITY, how } = this.#dies ?? {};
    const n = this.calls.length;
    if (n !== at) return false;
    this.#isOver = true;
    if (how === "before") throw died();
    return true;
  }
}

class Died extends Error {}

function died(): Error {
  return new Died("the process was killed");
}

/**
 * LangGraph 1.4 awaits no write of a run that has failed: of a process that died, nobody is left to hear of it.
 * @returns ends it
 */
export function deafToDeaths(): () => void {
  const listeners = process.listeners("unhandledRejection");
  const hear = (error: unknown, promise: Promise<unknown>): void => {
    if (!(error instanceof Died)) for (const listener of listeners) listener(error, promise);
  };
  process.removeAllListeners("unhandledRejection");
  process.on("unhandledRejection", hear);
  return () => {
    process.off("unhandledRejection", hear);
    for (const listener of listeners) process.on("unhandledRejection", listener);
  };
}
