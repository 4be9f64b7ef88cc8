/** The long bytes of a statement, joined into one bytea argument: drivers send one bytea as binary, but an array of them as hex text. */
export class BinaryArgument {
  readonly #parts: Uint8Array[] = [];
  #next = 1;

  /** @returns where `bytes` begin, counted from 1 */
  add(bytes: Uint8Array): number {
    const start = this.#next;
    this.#parts.push(bytes);
    this.#next += bytes.length;
    return start;
  }

  value(): Buffer {
    return Buffer.concat(this.#parts);
  }
}
