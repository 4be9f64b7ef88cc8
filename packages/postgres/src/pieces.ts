import { isLongKey, keyOf } from "./keys.ts";

/** Collects byte strings for one packed argument: a single bytea travels as binary, an array of them as hex text. */
export class Pieces {
  readonly lengths: number[] = [];
  readonly #parts: Uint8Array[] = [];
  #size = 0;
  #longIds: Map<string, string> | undefined;

  /** Bytes of all pieces. */
  get size(): number {
    return this.#size;
  }

  bytes(bytes: Uint8Array | undefined): this {
    this.lengths.push(bytes === undefined ? -1 : bytes.length);
    if (bytes === undefined) return this;
    this.#parts.push(bytes);
    this.#size += bytes.length;
    return this;
  }

  /** An id as its key; a long one is noted for {@link longIds}. */
  id(id: string | undefined): this {
    if (id === undefined) return this.bytes(undefined);
    const key = keyOf(id);
    if (isLongKey(key)) (this.#longIds ??= new Map()).set(key.toString("hex"), id);
    return this.bytes(key);
  }

  /** Hashes of 20 bytes each, one after another. */
  hashes(hashes: readonly string[]): this {
    return this.bytes(Buffer.from(hashes.join(""), "hex"));
  }

  hash(hash: string | undefined): this {
    return this.bytes(hash === undefined ? undefined : Buffer.from(hash, "hex"));
  }

  /** Adds the long ids met so far to `target`, as (key, id) pairs. */
  longIds(target: Pieces): void {
    for (const [key, id] of this.#longIds ?? [])
      target.bytes(Buffer.from(key, "hex")).bytes(Buffer.from(id, "utf8"));
  }

  /** Appends the pieces of another collection. */
  all(other: Pieces): this {
    for (const length of other.lengths) this.lengths.push(length);
    for (const part of other.#parts) this.#parts.push(part);
    this.#size += other.#size;
    return this;
  }

  /** Where each piece begins in {@link data}, counted from 1. */
  starts(): number[] {
    let next = 1;
    return this.lengths.map((length) => {
      const start = next;
      next += Math.max(0, length);
      return start;
    });
  }

  data(): Buffer {
    return Buffer.concat(this.#parts);
  }
}
