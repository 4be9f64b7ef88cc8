/** Bytes as hex digits. */
export function hexOf(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString("hex");
}

/** Bytes as the text of a bytea. */
export function byteaText(bytes: Uint8Array): string {
  return `\\x${hexOf(bytes)}`;
}

/** A blob's hash as the text of a bytea. */
export function hashText(hash: string | undefined): string | undefined {
  return hash === undefined ? undefined : `\\x${hash}`;
}

/** Hashes of 20 bytes each, one after another, as the text of a bytea. */
export function hashesText(hashes: readonly string[]): string {
  return `\\x${hashes.join("")}`;
}
