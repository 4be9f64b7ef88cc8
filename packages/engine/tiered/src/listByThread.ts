import type { ListedCheckpoint } from "@stratigraph/core/tier";

/** The part of a listing that belongs to one thread. */
interface ThreadListing {
  readonly threadId: string;
  readonly listing: AsyncIterable<ListedCheckpoint>;
}

/** Splits a listing, in which the checkpoints of a thread are adjacent, by thread. Checkpoints that aren't consumed are skipped. */
export async function* listByThread(all: AsyncIterable<ListedCheckpoint>): AsyncGenerator<ThreadListing> {
  const items = all[Symbol.asyncIterator]();
  try {
    let next = await items.next();
    while (next.done !== true) {
      const { threadId } = next.value.record;
      const part = async function* (): AsyncGenerator<ListedCheckpoint> {
        while (next.done !== true && next.value.record.threadId === threadId) {
          yield next.value;
          next = await items.next();
        }
      };
      const listing = part();
      yield { threadId, listing };
      for await (const _ of listing) continue;
    }
  } finally {
    await items.return?.();
  }
}
