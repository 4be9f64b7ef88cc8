import { AppendOnlyBuffer } from "./appendOnlyBuffer.ts";

const nothing = new Uint8Array(0);

/**
 * A serialised value, with the name of its type in front: a prefix of an {@link AppendOnlyBuffer}, followed by `end`. The end of
 * an array, its closing bracket, isn't part of the buffer, so that the next version of the array can be appended there.
 */
export class Payload {
  readonly buffer: AppendOnlyBuffer;
  /** How many bytes of the buffer belong to the value. */
  readonly prefixLength: number;
  readonly end: Uint8Array;

  constructor(buffer: AppendOnlyBuffer, prefixLength: number, end: Uint8Array) {
    this.buffer = buffer;
    this.prefixLength = prefixLength;
    this.end = end;
  }

  /** A payload with a buffer of its own: the given bytes, which must not change any more. */
  static of(bytes: Uint8Array): Payload {
    return new Payload(AppendOnlyBuffer.over(bytes), bytes.length, nothing);
  }

  /** In bytes. */
  get length(): number {
    return this.prefixLength + this.end.length;
  }

  /**
   * All bytes, valid only until the buffer is appended to: `end` is in the shared buffer, where the next version of the value
   * overwrites it. Use them before anything is awaited; take {@link bytes} to keep them. Three places keep
   * this contract: this method; `AppendOnlyBuffer.temporaryPrefixWith`, which writes `end`; and
   * `IncrementalWriter`, which overwrites it.
   */
  temporaryView(): Uint8Array {
    const { buffer, prefixLength, end } = this;
    return end.length === 0 ? buffer.prefix(prefixLength) : buffer.temporaryPrefixWith(prefixLength, end);
  }

  /** All bytes, to keep but not to change. */
  bytes(): Uint8Array {
    return this.end.length === 0 ? this.buffer.prefix(this.prefixLength) : this.temporaryView().slice();
  }

  /** Whether this is `base` with something inserted before its end. */
  continues(base: Payload): boolean {
    return this.buffer === base.buffer && this.prefixLength >= base.prefixLength && this.end === base.end;
  }
}
