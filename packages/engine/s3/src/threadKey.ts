import { createHash } from "node:crypto";

/** Ids that can stand in a key unchanged, such as UUIDs. Capitals can't: some file systems don't distinguish upper and lower case. */
const plain = /^[a-z0-9][a-z0-9_-]{0,63}$/;

/** The longest readable part of a key that ends with a hash, in characters. */
const readable = 24;

/**
 * The part of an object key that stands for a thread: the id itself if it is safe, otherwise the beginning of its readable
 * characters and its SHA-256. The thread's head holds the full id, which is compared when the head is read.
 */
export function threadKey(threadId: string): string {
  if (plain.test(threadId)) return threadId;
  const shown = threadId
    .slice(0, readable)
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, "-");
  // Hash the JSON, because in UTF-8 all lone surrogates become the same replacement character.
  const hash = createHash("sha256").update(JSON.stringify(threadId)).digest("hex");
  return `${shown}.${hash}`;
}

/** How many digits a revision has in the key of a pack. */
const revisionDigits = 12;

/** The key of a thread's head. */
export function headKey(threadId: string): string {
  return `${threadKey(threadId)}/head`;
}

/** The prefix of the keys of a thread's packs. */
export function packPrefix(threadId: string): string {
  return `${threadKey(threadId)}/`;
}

/** The key of the pack that a writer makes for a revision. @param hash SHA-256 of the pack, in hexadecimal */
export function packKey(threadId: string, revision: number, hash: string, writer: string): string {
  const digits = String(revision).padStart(revisionDigits, "0");
  return `${packPrefix(threadId)}${digits}-${hash.slice(0, 16)}-${writer}.pack`;
}

/** The id of the thread whose objects have this prefix; undefined if the prefix holds only a hash of the id. */
export function threadOfPrefix(prefix: string): string | undefined {
  return plain.test(prefix) ? prefix : undefined;
}

/** The revision that a pack was made for. */
export function revisionOf(packKey: string): number {
  const name = packKey.slice(packKey.lastIndexOf("/") + 1);
  return Number(name.slice(0, revisionDigits));
}
