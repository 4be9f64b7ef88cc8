import { StratigraphError, trace, traced } from "@stratigraph/core";
import type { Executor, PgPool, PgQuery, PgResult } from "./client.ts";
import { explained } from "./explained.ts";
import { retried } from "./retry.ts";

/** Pools that are listened to already: several savers may share one. */
const heard = new WeakSet<PgPool>();

/** Runs statements on a pool: each on any connection, retried over passing failures, with a bounded queue. */
export class PoolExecutor implements Executor {
  readonly #pool: PgPool;
  readonly #options: { readonly retryForMs: number; readonly maxQueue: number; readonly owned: boolean };
  #waiting = 0;

  constructor(pool: PgPool, options: { retryForMs: number; maxQueue: number; owned: boolean }) {
    this.#pool = pool;
    // An idle connection that breaks is replaced at its next use; unheard, its error would end the process.
    if (!heard.has(pool)) pool.on?.("error", () => undefined);
    heard.add(pool);
    this.#options = options;
  }

  /** @throws StratigraphError "OVERLOADED", "UNAVAILABLE", "NOT_SET_UP" */
  async run(query: PgQuery): Promise<PgResult> {
    const leave = this.enter();
    try {
      return await this.send(query);
    } finally {
      leave();
    }
  }

  enter(): () => void {
    const { maxQueue } = this.#options;
    if (this.#waiting >= maxQueue) {
      throw new StratigraphError(
        "OVERLOADED",
        `${maxQueue} calls wait for PostgreSQL already. Slow the writers down, give the pool more connections, or raise maxQueue.`,
        { tier: "postgres", maxQueue },
      );
    }
    this.#waiting += 1;
    return () => {
      this.#waiting -= 1;
    };
  }

  /** @throws StratigraphError "UNAVAILABLE", "NOT_SET_UP" */
  async send(query: PgQuery): Promise<PgResult> {
    const started = traced() ? performance.now() : 0;
    try {
      const { rows } = await retried(
        () => this.#pool.query({ text: query.text, values: [...(query.values ?? [])] }),
        this.#options.retryForMs,
      );
      if (traced())
        trace({
          type: "call",
          tier: "postgres",
          method: query.text.slice(0, 80),
          ms: performance.now() - started,
        });
      return { rows: rows as Record<string, unknown>[] };
    } catch (error) {
      throw explained(error);
    }
  }

  async end(): Promise<void> {
    if (this.#options.owned) await this.#pool.end?.();
  }
}
