/**
 * Memory that values share of which each is the one before with more written behind it, as a conversation's are. Bytes that
 * were written never change.
 */
export class AppendOnlyBuffer {
  #bytes: Buffer;
  #used = 0;

  private constructor(bytes: Buffer, used: number) {
    this.#bytes = bytes;
    this.#used = used;
  }

  /** Empty, with room for so many bytes and some more. */
  static for(bytes: number): AppendOnlyBuffer {
    // Not zeroed: nothing is read that wasn't written.
    return new AppendOnlyBuffer(Buffer.allocUnsafeSlow(roomFor(bytes)), 0);
  }

  /** Full of bytes that are there already. */
  static of(bytes: Uint8Array): AppendOnlyBuffer {
    return new AppendOnlyBuffer(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length), bytes.length);
  }

  /** How many bytes were written. */
  get used(): number {
    return this.#used;
  }

  /** How many bytes it takes, written or not. */
  get capacity(): number {
    return this.#bytes.length;
  }

  /** Makes room for so many bytes in all. */
  reserve(bytes: number): void {
    if (bytes <= this.#bytes.length) return;
    const larger = Buffer.allocUnsafeSlow(roomFor(bytes));
    larger.set(this.#bytes.subarray(0, this.#used));
    this.#bytes = larger;
  }

  /** Adds bytes, for which there must be room. */
  add(bytes: Uint8Array): void {
    this.#bytes.set(bytes, this.#used);
    this.#used += bytes.length;
  }

  /** Adds a text as UTF-8, for which there must be room. */
  addText(text: string): void {
    this.#used += this.#bytes.write(text, this.#used);
  }

  /** So many of the bytes that were written first; no copy. */
  first(bytes: number): Uint8Array {
    return new Uint8Array(this.#bytes.buffer, this.#bytes.byteOffset, bytes);
  }

  /** So many of the first bytes with `end` behind them; a copy only where something else is there already. Until more is written. */
  ended(bytes: number, end: Uint8Array): Uint8Array {
    const length = bytes + end.length;
    if (bytes === this.#used && length <= this.#bytes.length) {
      this.#bytes.set(end, bytes);
      return this.first(length);
    }
    const joined = new Uint8Array(length);
    joined.set(this.first(bytes));
    joined.set(end, bytes);
    return joined;
  }
}

/** An eighth more than is needed now: each time it isn't enough costs a copy, and unused memory counts as well. */
function roomFor(bytes: number): number {
  return bytes + (bytes >>> 3) + 64;
}

const nothing = new Uint8Array(0);

/** A serialised value, type name included: the first bytes of a memory, and what ends them. */
export class Payload {
  readonly memory: AppendOnlyBuffer;
  /** How many bytes of the memory. */
  readonly begins: number;
  readonly end: Uint8Array;

  constructor(memory: AppendOnlyBuffer, begins: number, end: Uint8Array) {
    this.memory = memory;
    this.begins = begins;
    this.end = end;
  }

  /** In a memory of its own: the bytes given, which mustn't change any more. */
  static of(bytes: Uint8Array): Payload {
    return new Payload(AppendOnlyBuffer.of(bytes), bytes.length, nothing);
  }

  /** In bytes. */
  get length(): number {
    return this.begins + this.end.length;
  }

  /** For use at once: more may be written into the same memory later. */
  view(): Uint8Array {
    return this.end.length === 0 ? this.memory.first(this.begins) : this.memory.ended(this.begins, this.end);
  }

  /** To keep; not to change. */
  bytes(): Uint8Array {
    return this.end.length === 0 ? this.memory.first(this.begins) : this.view().slice();
  }

  /** Whether this is `base` with more written behind it. */
  goesOnFrom(base: Payload): boolean {
    return this.memory === base.memory && this.begins >= base.begins && this.end === base.end;
  }
}
