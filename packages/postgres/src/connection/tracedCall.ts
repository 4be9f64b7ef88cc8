import { trace, traced } from "@stratigraph/core";
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
