/** Encodes strings, each with its length in bytes in front: "3:abc". The scripts read them with readString(). */
export function encodeStrings(parts: readonly (string | Uint8Array)[]): Buffer {
  const pieces: Uint8Array[] = [];
  for (const part of parts) {
    const bytes = typeof part === "string" ? Buffer.from(part) : part;
    pieces.push(Buffer.from(`${bytes.length}:`), bytes);
  }
  return Buffer.concat(pieces);
}

/** A stored value is damaged: it breaks off, or a length in it isn't a number. */
export class DamagedValue extends RangeError {
  constructor() {
    super("a length in a stored field is damaged");
    this.name = "DamagedValue";
  }
}

const digits = /^\d+$/;

/** Reads length-prefixed strings one after the other. */
export class StringReader {
  readonly #bytes: Buffer;
  #at = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  get done(): boolean {
    return this.#at >= this.#bytes.length;
  }

  /** @throws DamagedValue */
  next(): Buffer {
    const colon = this.#bytes.indexOf(58, this.#at);
    const length = colon < 0 ? "" : this.#bytes.toString("latin1", this.#at, colon);
    const start = colon + 1;
    if (!digits.test(length) || start + Number(length) > this.#bytes.length) throw new DamagedValue();
    this.#at = start + Number(length);
    return this.#bytes.subarray(start, this.#at);
  }

  /** All that follows. */
  rest(): Buffer {
    return this.#bytes.subarray(this.#at);
  }
}
