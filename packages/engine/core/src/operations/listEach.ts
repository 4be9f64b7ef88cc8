import { StratigraphError } from "../contract/errors.ts";
import { checkpointKey } from "../contract/keys.ts";
import { threadNamedBy } from "../contract/threadNamedBy.ts";
import type { ListedCheckpoint, ListQuery, Tier } from "../contract/tier.ts";

/**
 * Lists checkpoints of all threads, each once. A damaged thread ends a tier's own list of all: the others are then listed one by one.
 * @param onDamaged called for each thread that can't be listed, and without an id if that can't be read; what it throws ends the list
 */
export async function* listEach(
  tier: Pick<Tier, "list" | "threads">,
  query: Omit<ListQuery, "threadId" | "limit">,
  onDamaged: (error: Error, threadId?: string) => unknown,
): AsyncGenerator<ListedCheckpoint> {
  const begun = new Set<string>();
  let last: string | undefined;
  let ofLast = new Set<string>();
  try {
    for await (const listed of tier.list(query)) {
      if (listed.record.threadId !== last) {
        last = listed.record.threadId;
        begun.add(last);
        ofLast = new Set();
      }
      ofLast.add(checkpointKey(listed.record));
      yield listed;
    }
    return;
  } catch (error) {
    if (!isDamaged(error)) throw error;
  }
  const one = async function* (threadId: string): AsyncGenerator<ListedCheckpoint> {
    if (begun.has(threadId) && threadId !== last) return;
    try {
      for await (const listed of tier.list({ ...query, threadId }))
        if (threadId !== last || !ofLast.has(checkpointKey(listed.record))) yield listed;
    } catch (error) {
      if (!isDamaged(error)) throw error;
      await onDamaged(error, threadId);
    }
  };
  const damaged: Error[] = [];
  for await (const { threadId } of tier.threads({ onDamaged: (error) => damaged.push(error) }))
    yield* one(threadId);
  for (const error of damaged) {
    const threadId = threadNamedBy(error);
    if (threadId === undefined) await onDamaged(error);
    else yield* one(threadId);
  }
}

/** Whether what a thread has can't be read, and not the storage. */
export function isDamaged(error: unknown): error is StratigraphError {
  return StratigraphError.is(error, "CORRUPT") || StratigraphError.is(error, "NEWER_FORMAT");
}
