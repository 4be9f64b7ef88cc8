import { createHash, createHmac, hkdfSync } from "node:crypto";

/** Bytes of a content hash: 160 bits, as in git; beyond reach of accidental and of deliberate collisions. */
const hashBytes = 20;

/**
 * Name of a content: SHA-256, or HMAC-SHA-256 with a key, cut to 20 bytes, as 40 lower-case hex characters.
 *
 * A plain hash lets anyone who reads the database confirm a guess at the content ("is this blob the message
 * 'yes'?"). If values are encrypted, pass the key of {@link deriveHashKey}: hashes then reveal only that two
 * contents of the same key are equal.
 *
 * @param bytes the content, or its parts in order; the hash doesn't depend on how it is divided
 */
export function contentHash(bytes: Uint8Array | readonly Uint8Array[], hmacKey?: Uint8Array): string {
  const hash = hmacKey === undefined ? createHash("sha256") : createHmac("sha256", hmacKey);
  for (const part of bytes instanceof Uint8Array ? [bytes] : bytes) hash.update(part);
  return hash.digest().toString("hex", 0, hashBytes);
}

/**
 * Computes {@link contentHash}, without a key, of the versions of one content. Their common beginning is hashed once.
 */
export class IncrementalHash {
  #state = createHash("sha256");
  /** How many bytes the state covers. */
  #covered = 0;

  /**
   * @param content all of the content but its end
   * @param end the last bytes, which the next version is likely to have at another place
   * @param unchanged how many bytes at the beginning are the same as in the version before
   */
  of(content: Uint8Array, end: Uint8Array, unchanged: number): string {
    if (this.#covered > unchanged) {
      this.#state = createHash("sha256");
      this.#covered = 0;
    }
    this.#state.update(content.subarray(this.#covered));
    this.#covered = content.length;
    return this.#state.copy().update(end).digest().toString("hex", 0, hashBytes);
  }
}

/**
 * The HMAC key of {@link contentHash}: HKDF-SHA-256 of a secret, so that the secret may serve other purposes too.
 * 32 bytes, the same for the same secret.
 */
export function deriveHashKey(secret: Uint8Array): Uint8Array {
  return new Uint8Array(hkdfSync("sha256", secret, new Uint8Array(0), "stratigraph content hash v1", 32));
}
