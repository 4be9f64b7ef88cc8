import type { Context } from "../table/context.ts";
import type { SelectedThread } from "./selectedThreads.ts";

/** The result of working on threads. */
export interface Walked<T> {
  /** Results of the first threads. */
  readonly items: readonly T[];
  /** Whether all threads were gone through. */
  readonly complete: boolean;
  /** Where to go on, if not all were. */
  readonly cursor?: string;
}

/** How many items are listed at most; later ones are only counted. */
export const mostListed = 1000;

/**
 * Works on one thread after the other. Once the context's signal is aborted, it ends after the thread under way.
 * @param from the cursor at which the threads begin
 * @param work returns undefined if there is nothing to list
 */
export async function eachThread<T>(
  context: Context,
  threads: AsyncIterable<SelectedThread>,
  from: string | undefined,
  work: (thread: SelectedThread) => Promise<T | undefined>,
): Promise<Walked<T>> {
  const items: T[] = [];
  let done = 0;
  let cursor = from;
  for await (const thread of threads) {
    if (context.signal.aborted)
      return { items, complete: false, ...(cursor === undefined ? {} : { cursor }) };
    const item = await work(thread);
    if (item !== undefined && items.length < mostListed) items.push(item);
    done += 1;
    cursor = thread.next;
    context.progress({ done, unit: "threads", at: thread.threadId });
  }
  return { items, complete: true };
}
