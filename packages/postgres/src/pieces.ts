import { isLongKey, keyOf } from "./keys.ts";

/** Collects byte strings for one packed argument: a single bytea travels as binary, an array of them as hex text. */
export class Pieces {
  readonly lengths: number[] = [];
  readonly #parts: Uint8Array[] = [];
  readonly #longIds = new Map<string, { key: Uint8Array; id: string }>();

  bytes(bytes: Uint8Array | undefined): this {
    this.lengths.push(bytes === undefined ? -1 : bytes.length);
    if (bytes !== undefined) this.#parts.push(bytes);
    return this;
  }

  /** An id as its key; a long one is noted for {@link longIds}. */
  id(id: string | undefined): this {
    if (id === undefined) return this.bytes(undefined);
    const key = keyOf(id);
    if (isLongKey(key)) this.#longIds.set(key.toString("hex"), { key, id });
    return this.bytes(key);
  }

  /** Hashes of 20 bytes each, one after another. */
  hashes(hashes: readonly string[]): this {
    return this.bytes(Buffer.from(hashes.join(""), "hex"));
  }

  hash(hash: string | undefined): this {
    return this.bytes(hash === undefined ? undefined : Buffer.from(hash, "hex"));
  }

  /** Appends the long ids met so far, as (key, id) pairs. Returns how many. */
  longIds(): number {
    for (const { key, id } of this.#longIds.values()) this.bytes(key).bytes(Buffer.from(id, "utf8"));
    return this.#longIds.size;
  }

  data(): Buffer {
    return Buffer.concat(this.#parts);
  }
}
