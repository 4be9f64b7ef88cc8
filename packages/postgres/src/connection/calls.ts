import { CallGate, StratigraphError, trace, traced } from "@stratigraph/core";
import type { PgQuery } from "./client.ts";

/** Makes a call and publishes its duration, and its error if it failed. Without listeners this costs nothing, not even a promise. */
export function tracedCall<T>(tier: string, query: PgQuery, work: () => Promise<T>): Promise<T> {
  return traced() ? published(tier, query, work) : work();
}

async function published<T>(tier: string, query: PgQuery, work: () => Promise<T>): Promise<T> {
  const startedAt = performance.now();
  const publish = (outcome: { error?: unknown }): void => {
    const thread = query.threadId === undefined ? {} : { threadId: query.threadId };
    trace({
      type: "call",
      tier,
      method: query.method,
      ...thread,
      ms: performance.now() - startedAt,
      ...outcome,
    });
  };
  try {
    const result = await work();
    publish({});
    return result;
  } catch (error) {
    publish({ error });
    throw error;
  }
}

/** Admits calls up to a limit, and none after it was closed. A statement that timed out counts until the server has ended it. */
export class BoundedCallGate extends CallGate {
  readonly #database: string;
  readonly #most: number;

  /** @param most how many calls may be under way at once */
  constructor(tier: string, most: number) {
    super(tier);
    this.#database = tier;
    this.#most = most;
  }

  /** @throws StratigraphError "CLOSED", "OVERLOADED" */
  override enter(): () => void {
    const leave = super.enter();
    if (this.underWay <= this.#most) return leave;
    leave();
    throw new StratigraphError(
      "OVERLOADED",
      `${this.#most} calls wait for PostgreSQL already. Slow the writers down, give the pool more connections, or raise maxQueue.`,
      { tier: this.#database, maxQueue: this.#most },
    );
  }
}
