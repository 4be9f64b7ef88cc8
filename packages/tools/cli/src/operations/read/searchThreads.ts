import type { ThreadInfo, ThreadListOptions, TierSaver } from "@stratigraph/core";
import { encodeCursor } from "@stratigraph/core/internal";

/** How many threads are listed at a time, and how many are looked at for one page. */
const listed = 500;
const mostLooked = 20_000;

/** A page of threads whose ids contain a text. */
export interface FoundThreads {
  readonly threads: readonly ThreadInfo[];
  readonly cursor?: string;
  /** As in a page of the list. */
  readonly skipped: number;
}

/**
 * Goes through the list of threads for those whose ids contain a text, in any case: storages have no index of parts of ids. The page
 * ends early, perhaps empty, if many threads were looked at; its cursor then goes on after them.
 */
export async function searchThreads(
  saver: TierSaver,
  text: string,
  { limit, cursor, ...options }: ThreadListOptions & { readonly limit: number },
  signal: AbortSignal,
): Promise<FoundThreads> {
  const wanted = text.toLowerCase();
  const threads: ThreadInfo[] = [];
  let here = cursor;
  let skipped = 0;
  for (let looked = 0; looked < mostLooked && !signal.aborted; looked += listed) {
    const page = await saver.listThreads({
      ...options,
      limit: listed,
      ...(here === undefined ? {} : { cursor: here }),
    });
    skipped += page.skipped ?? 0;
    for (const thread of page.threads) {
      if (!thread.threadId.toLowerCase().includes(wanted)) continue;
      threads.push(thread);
      // The threads after the last one are looked at again for the next page, which may be empty.
      if (threads.length === limit) return { threads, skipped, cursor: encodeCursor(thread) };
    }
    if (page.cursor === undefined) return { threads, skipped };
    here = page.cursor;
  }
  return { threads, skipped, ...(here === undefined ? {} : { cursor: here }) };
}
