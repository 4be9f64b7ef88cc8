import { StratigraphError } from "../contract/errors.ts";
import type { Tier } from "../contract/tier.ts";

/** How often a head is read, if it moves or is deleted each time. */
const attempts = 8;

/**
 * Reads the head of a namespace. If its checkpoint isn't there, the head may have been deleted, moved or lost since it was named. It is
 * then read again, so that the result is true of one moment.
 * @throws what `read` throws
 */
export async function settledHead<T>(tier: Tier, read: () => Promise<T>): Promise<T> {
  // null: it wasn't looked up yet.
  let before: string | null | undefined = null;
  for (let attempt = 1; ; attempt += 1)
    try {
      return await read();
    } catch (error) {
      if (!lacksCheckpoint(error) || attempt === attempts) throw error;
      const { threadId, namespace, checkpointId } = error.data as Record<string, string>;
      const { head } = await tier.peek({ threadId: threadId!, namespace: namespace! });
      if (head === checkpointId || head === before) throw error;
      before = head;
    }
}

/** Whether an error says that a tier, which it names, doesn't have the checkpoint that a head names. */
function lacksCheckpoint(error: unknown): error is StratigraphError {
  if (StratigraphError.is(error, "EVICTED")) return !("restoreOn" in error.data);
  return StratigraphError.is(error, "CORRUPT") && "tier" in error.data && "checkpointId" in error.data;
}
