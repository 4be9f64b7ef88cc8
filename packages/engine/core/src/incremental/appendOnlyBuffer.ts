/**
 * A growing buffer that several values share. Each value continues the previous one, as the versions of a conversation do.
 * Bytes that were added never change.
 */
export class AppendOnlyBuffer {
  #bytes: Buffer;
  #length: number;

  private constructor(bytes: Buffer, length: number) {
    this.#bytes = bytes;
    this.#length = length;
  }

  /** An empty buffer with room for this many bytes and some more. */
  static withRoomFor(bytes: number): AppendOnlyBuffer {
    // The memory isn't zeroed: only bytes that were written are ever read.
    return new AppendOnlyBuffer(Buffer.allocUnsafeSlow(roomFor(bytes)), 0);
  }

  /** A full buffer over existing bytes, without a copy. They must not change any more. */
  static over(bytes: Uint8Array): AppendOnlyBuffer {
    return new AppendOnlyBuffer(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length), bytes.length);
  }

  /** How many bytes were added. */
  get length(): number {
    return this.#length;
  }

  /** How many bytes of memory it takes. */
  get capacity(): number {
    return this.#bytes.length;
  }

  /** Makes room for this many bytes in all. */
  reserve(bytes: number): void {
    if (bytes <= this.#bytes.length) return;
    const larger = Buffer.allocUnsafeSlow(roomFor(bytes));
    larger.set(this.#bytes.subarray(0, this.#length));
    this.#bytes = larger;
  }

  /** Adds bytes, for which there must be room. */
  add(bytes: Uint8Array): void {
    this.#bytes.set(bytes, this.#length);
    this.#length += bytes.length;
  }

  /** Adds a text as UTF-8, for which there must be room. */
  addText(text: string): void {
    this.#length += this.#bytes.write(text, this.#length);
  }

  /** The first `length` bytes, without a copy. They must have been added. */
  prefix(length: number): Uint8Array {
    return new Uint8Array(this.#bytes.buffer, this.#bytes.byteOffset, length);
  }

  /**
   * The first `length` bytes followed by `end`. If nothing was added after these bytes, this writes `end` into the free room
   * behind them instead of copying them. The result is then valid only until the next bytes are added: see
   * `Payload.temporaryView`.
   */
  temporaryPrefixWith(length: number, end: Uint8Array): Uint8Array {
    const total = length + end.length;
    if (length === this.#length && total <= this.#bytes.length) {
      this.#bytes.set(end, length);
      return this.prefix(total);
    }
    const joined = new Uint8Array(total);
    joined.set(this.prefix(length));
    joined.set(end, length);
    return joined;
  }
}

/** An eighth more than is needed now: running out of room costs a copy, and unused room counts as memory too. */
function roomFor(bytes: number): number {
  return bytes + (bytes >>> 3) + 64;
}
