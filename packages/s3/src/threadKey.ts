import { createHash } from "node:crypto";

/** Ids that name themselves. UUIDs do. No capitals: folders of some systems don't tell them apart. */
const plain = /^[a-z0-9][a-z0-9_-]{0,63}$/;

/** Longest readable part of a key that ends with a hash, in characters. */
const readable = 24;

/**
 * The part of an object key that stands for a thread: the id itself where that is safe, else what is readable of it and
 * its SHA-256. The full id is stored in the thread's head, and compared when that is read.
 */
export function threadKey(threadId: string): string {
  if (plain.test(threadId)) return threadId;
  const shown = threadId
    .slice(0, readable)
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, "-");
  // JSON, because UTF-8 alone would take different broken surrogates for the same.
  const hash = createHash("sha256").update(JSON.stringify(threadId)).digest("hex");
  return `${shown}.${hash}`;
}
