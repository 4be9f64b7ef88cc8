import type { ListedCheckpoint, ListQuery } from "@stratigraph/core/tier";
import { checkpointKeyBounds, type Bytes } from "./checkpointKeys.ts";
import type { NamedBlobs, WithLarge } from "./largeBlobs.ts";
import { checkpointsFrom, type ListedReply } from "./listReply.ts";

/** The largest number of checkpoints in a page. list.lua also limits a page's bytes. */
const largestPage = 100;

/** What list.lua answers: whether there is more, checkpoints, blobs, names of large blobs, the last key that it looked at. */
export type ListReply = [number, ListedReply[]?, Buffer[]?, NamedBlobs?, (Buffer | null)?];

/** Checkpoints of one thread, newest first, page by page. `run` calls list.lua. */
export async function* listThread(
  run: (args: (Bytes | number)[]) => Promise<WithLarge<ListReply>>,
  threadId: string,
  query: ListQuery,
  refreshMs: number,
): AsyncGenerator<ListedCheckpoint> {
  const { namespace, terms = [], runIds, recordsOnly, lost, limit = Number.POSITIVE_INFINITY } = query;
  if (runIds?.length === 0) return;
  const { min, max } = checkpointKeyBounds(query);
  const filters = [
    ...(namespace === undefined ? [0] : [1, namespace]),
    ...[terms.length, ...terms],
    ...[runIds?.length ?? 0, ...(runIds ?? [])],
  ];
  let below = max;
  for (let found = 0; found < limit;) {
    const size = Math.min(largestPage, limit - found);
    const args = [threadId, refreshMs, below, min, size, recordsOnly === true ? 1 : 0, lost === true ? 1 : 0];
    const { reply, large } = await run([...args, ...filters]);
    const [more, items = [], blobs = [], , last] = reply;
    for (const listed of checkpointsFrom(threadId, items, blobs, large)) {
      yield listed;
      found += 1;
    }
    if (more === 0 || !last) return;
    below = Buffer.concat([Buffer.from("("), last]);
  }
}
