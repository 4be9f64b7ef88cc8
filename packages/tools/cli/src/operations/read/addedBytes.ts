import type { Tier } from "@stratigraph/core";
import type { BlobHash } from "@stratigraph/core/tier";
import type { Opened } from "./records.ts";

/**
 * The bytes that each checkpoint of a page added to the storage, as stored: record, pending writes, and the values that its parent
 * doesn't have. Patch bases that were stored with a value are not counted. Keyed by checkpoint id.
 */
export async function addedBytes(
  tier: Tier,
  threadId: string,
  page: readonly Opened[],
  find: (checkpointId: string) => Promise<Opened | undefined>,
): Promise<Map<string, number>> {
  const added = new Map<string, Set<BlobHash>>();
  for (const { record, writes } of page) {
    const parent = record.parentId === undefined ? undefined : await find(record.parentId);
    const had = new Set([
      ...(parent?.record.blobs ?? []),
      ...(parent?.writes.flatMap(({ blobs }) => blobs) ?? []),
    ]);
    const named = [...record.blobs, ...writes.flatMap(({ blobs }) => blobs)];
    added.set(record.checkpointId, new Set(named.filter((hash) => !had.has(hash))));
  }
  const wanted = [...new Set([...added.values()].flatMap((hashes) => [...hashes]))];
  const infos = wanted.length === 0 ? [] : await tier.blobs(threadId, wanted);
  const sizes = new Map(infos.map(({ hash, size }) => [hash, size]));
  return new Map(
    page.map(({ record, writes }) => {
      const values = [...added.get(record.checkpointId)!].reduce(
        (sum, hash) => sum + (sizes.get(hash) ?? 0),
        0,
      );
      const batches = writes.reduce((sum, { body }) => sum + body.length, 0);
      return [record.checkpointId, record.body.length + batches + values];
    }),
  );
}
