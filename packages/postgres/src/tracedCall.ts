import { trace, traced } from "@stratigraph/core";
import type { PgQuery } from "./client.ts";

/** Does a call and publishes how long it took, and its error if it failed. */
export async function tracedCall<T>(tier: string, query: PgQuery, work: () => Promise<T>): Promise<T> {
  if (!traced()) return await work();
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
