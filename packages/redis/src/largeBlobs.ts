import type { BlobHash } from "@stratigraph/core";
import type { Connection } from "./connection.ts";

/** How often a script is run again because blobs went between its answer and fetching them. */
const attempts = 3;

/** A script's answer, with the bytes of the large blobs that it named. */
export interface WithLarge<Reply> {
  readonly reply: Reply;
  readonly large: ReadonlyMap<BlobHash, Buffer>;
  /** Some are gone: the thread is being pruned, evicted or deleted all the time. */
  readonly missing: boolean;
}

/**
 * Runs a script that names large blobs instead of sending them, and fetches those. Blobs don't change, so what was fetched
 * a moment later is the same; if one is gone by then, the script is run again.
 */
export async function withLarge<Reply>(
  connection: Connection,
  thread: string,
  run: () => Promise<Reply>,
  named: (reply: Reply) => readonly Buffer[] | undefined,
): Promise<WithLarge<Reply>> {
  for (let attempt = 1; ; attempt += 1) {
    const reply = await run();
    const hashes = (named(reply) ?? []).map(String);
    if (hashes.length === 0) return { reply, large: new Map(), missing: false };
    const fields = hashes.map((hash) => `B${hash}`);
    const found = (await connection.command("HMGET", thread, ...fields)) as (Buffer | null)[];
    const large = new Map<BlobHash, Buffer>();
    for (const [i, bytes] of found.entries()) if (bytes !== null) large.set(hashes[i]!, bytes);
    const missing = large.size < hashes.length;
    if (!missing || attempt === attempts) return { reply, large, missing };
  }
}
