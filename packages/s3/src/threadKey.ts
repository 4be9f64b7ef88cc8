import { createHash } from "node:crypto";

/** Ids that are safe in a key as they are, such as UUIDs. Capitals aren't: some file systems don't tell them from small letters. */
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

/** Digits of a revision in the key of a pack. */
const revisionDigits = 12;

/** The key of a thread's head. */
export function headKey(threadId: string): string {
  return `${threadKey(threadId)}/head`;
}

/** What the keys of a thread's packs begin with. */
export function packPrefix(threadId: string): string {
  return `${threadKey(threadId)}/`;
}

/** The key of a pack that a writer makes for a revision. @param hash SHA-256 of the pack, in hexadecimal */
export function packKey(threadId: string, revision: number, hash: string, writer: string): string {
  const digits = String(revision).padStart(revisionDigits, "0");
  return `${packPrefix(threadId)}${digits}-${hash.slice(0, 16)}-${writer}.pack`;
}

/** The revision that a pack was made for. */
export function revisionOf(packKey: string): number {
  const name = packKey.slice(packKey.lastIndexOf("/") + 1);
  return Number(name.slice(0, revisionDigits));
}
