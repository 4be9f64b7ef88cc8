import { timeOfId } from "@stratigraph/core/internal";
import {
  checkpointKey,
  namedBlobs,
  type Address,
  type BlobHash,
  type BlobInfo,
  type ThreadInspection,
} from "@stratigraph/core/tier";
import type { Place } from "./places.ts";
import type { Suspicion } from "./suspicion.ts";
import type { ThreadScan } from "./threadScan.ts";

/** How long pending writes may wait for their checkpoint. Under "async" they may come first, by seconds at most. */
const longestWaitMs = 10 * 60_000;

/** Blobs outside the closure of the named ones. */
export function unneeded(infos: readonly BlobInfo[], named: ReadonlySet<BlobHash>): BlobHash[] {
  const byHash = new Map(infos.map((info) => [info.hash, info]));
  const needed = new Set<BlobHash>();
  for (const hash of named)
    for (let next: BlobHash | undefined = hash; next !== undefined && !needed.has(next);) {
      needed.add(next);
      next = byHash.get(next)?.base;
    }
  return infos.map(({ hash }) => hash).filter((hash) => !needed.has(hash));
}

/**
 * The blobs that checkpoints and pending writes of a thread name. Decodes nothing.
 * @param strays checkpoints that only have pending writes
 * @param counts returns false for checkpoints to leave out
 */
export async function namedIn(
  { tier }: Place,
  threadId: string,
  strays: readonly Address[],
  counts: (at: Address) => boolean = () => true,
): Promise<Set<BlobHash>> {
  const named = new Set<BlobHash>();
  for await (const { record, writes } of tier.list({ threadId, recordsOnly: true }))
    if (counts(record)) for (const hash of namedBlobs(record, writes)) named.add(hash);
  for (const at of strays.filter(counts))
    for (const hash of namedBlobs(undefined, (await tier.peek(at)).writes)) named.add(hash);
  return named;
}

/** A finding for blobs that nothing names. */
export function orphanBlob(place: Place, hash: BlobHash, size: number): Suspicion {
  return {
    kind: "orphan",
    severity: "info",
    part: "blob",
    place,
    namespace: "",
    hash,
    detail: `${size} bytes`,
    involved: [],
    concerns: 0,
    meaning: "No checkpoint and no pending writes need these bytes: they only take room.",
  };
}

/**
 * Finds pending writes whose checkpoint never came. Leaves out those of the head, and those of a checkpoint that others were made
 * from: that one is lost, which is a gap. @param writtenAtMs when the thread was last written, in milliseconds since 1970
 */
export function* orphanWrites(
  owners: readonly { readonly scan: ThreadScan; readonly inspection: ThreadInspection | undefined }[],
  writtenAtMs: number | undefined,
  now: number,
): Generator<Suspicion> {
  const parents = new Set<string>();
  const seen = new Set<string>();
  for (const { scan, inspection } of owners) {
    for (const [key, { namespace, parentId }] of scan.seen) {
      seen.add(key);
      if (parentId !== undefined) parents.add(checkpointKey({ namespace, checkpointId: parentId }));
    }
    for (const [namespace, checkpointId] of inspection?.heads ?? [])
      parents.add(checkpointKey({ namespace, checkpointId }));
  }
  const isQuiet = writtenAtMs !== undefined && now - writtenAtMs > longestWaitMs;
  for (const { scan } of owners)
    for (const [key, { at, batches }] of scan.strays) {
      // Pending writes that can't be read may be another checkpoint's, with a damaged address.
      if (seen.has(key) || parents.has(key) || batches === undefined) continue;
      const madeAtMs = timeOfId(at.checkpointId);
      if (!isQuiet && (madeAtMs === undefined || now - madeAtMs < longestWaitMs)) continue;
      yield {
        kind: "orphan",
        severity: "info",
        part: "writes",
        place: scan.place,
        namespace: at.namespace,
        checkpointId: at.checkpointId,
        involved: [at],
        concerns: 1,
        meaning: "These pending writes belong to a checkpoint that never came: nobody can read them.",
      };
    }
}
