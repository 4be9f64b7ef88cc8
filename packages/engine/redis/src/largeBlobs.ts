import type { BlobHash } from "@stratigraph/core/tier";
import type { Connection } from "./connection.ts";

/** How often a script is run: again if blobs that it named were deleted before they were fetched. */
const attempts = 3;

/** How many bytes one command requests. A longer blob gets a command of its own. */
const fetchedBytes = 4 << 20;

/** Large blobs as scripts name them: alternately a hash and its size in bytes. */
export type NamedBlobs = readonly (Buffer | number)[];

/** A script's answer, with the bytes of the large blobs that it named. */
export interface WithLarge<Reply> {
  readonly reply: Reply;
  readonly large: ReadonlyMap<BlobHash, Buffer>;
  /** Whether blobs were missing in every attempt, because the thread is pruned, evicted or deleted again and again. */
  readonly missing: boolean;
}

/**
 * Runs a script that names large blobs instead of sending them, and fetches these. Blobs never change, so fetching them later
 * gives the same bytes. If one is gone by then, the script is run again.
 */
export async function withLarge<Reply>(
  connection: Connection,
  thread: string,
  run: () => Promise<Reply>,
  named: (reply: Reply) => NamedBlobs | undefined,
): Promise<WithLarge<Reply>> {
  for (let attempt = 1; ; attempt += 1) {
    const reply = await run();
    const sizes = sizesOf(named(reply) ?? []);
    const large = new Map<BlobHash, Buffer>();
    for await (const found of largeBlobs(connection, thread, sizes))
      for (const [hash, bytes] of found) large.set(hash, bytes);
    const missing = large.size < sizes.size;
    if (!missing || attempt === attempts) return { reply, large, missing };
  }
}

/** Fetches large blobs, at most 4 MiB at a time unless one is longer. Blobs that are gone are left out. */
export async function* largeBlobs(
  connection: Connection,
  thread: string,
  sizes: ReadonlyMap<BlobHash, number>,
): AsyncGenerator<[BlobHash, Buffer][]> {
  let hashes: BlobHash[] = [];
  let bytes = 0;
  const fetched = async (): Promise<[BlobHash, Buffer][]> => {
    const names = hashes.map((hash) => `B${hash}`);
    const found = await connection.fields(thread, names, bytes);
    return found.flatMap((value, n) => (value === null ? [] : [[hashes[n]!, value]]));
  };
  for (const [hash, size] of sizes) {
    if (hashes.length > 0 && bytes + size > fetchedBytes) {
      yield await fetched();
      hashes = [];
      bytes = 0;
    }
    hashes.push(hash);
    bytes += size;
  }
  if (hashes.length > 0) yield await fetched();
}

function sizesOf(named: NamedBlobs): Map<BlobHash, number> {
  const sizes = new Map<BlobHash, number>();
  for (let n = 0; n < named.length; n += 2) sizes.set(String(named[n]), Number(named[n + 1]));
  return sizes;
}
