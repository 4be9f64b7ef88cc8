import { commonPrefixLength } from "../patch/commonLength.ts";
import { setOwn, type JsonRecord } from "../serde/records.ts";

/** Texts shorter than this many bytes are parsed whole. */
const shortest = 4096;

const bytesOf = {
  comma: 0x2c,
  quote: 0x22,
  backslash: 0x5c,
  open: 0x5b,
  close: 0x5d,
  brace: 0x7b,
  unbrace: 0x7d,
} as const;

/**
 * Parses the versions of one JSON array, such as a growing list of messages in a history. Items that were also in the previous text
 * are copied from its result instead of being parsed again. Copying takes a third of the time of parsing (812 checkpoints
 * of up to 437 kB: 0.25 s against 0.85), and the copies share their strings.
 */
export class IncrementalReader {
  #bytes: Buffer | undefined;
  #items: readonly unknown[] = [];
  /** Where each item of the previous text ended: the offset of the comma or bracket after it. */
  #ends: readonly number[] = [];

  /** The parsed text. It shares no object with an earlier result. @throws SyntaxError */
  parse(data: Uint8Array, textOf: (bytes: Uint8Array) => string): unknown {
    if (data.length < shortest || data[0] !== bytesOf.open) return JSON.parse(textOf(data));
    const bytes = Buffer.from(data.buffer, data.byteOffset, data.length);
    const same = this.#sameItems(bytes);
    const from = same === 0 ? 1 : this.#ends[same - 1]! + 1;
    const ends = this.#ends.slice(0, same);
    let items = this.#items.slice(0, same);
    if (same === 0 || bytes[from - 1] !== bytesOf.close) {
      if (!findEnds(bytes, from, ends)) return JSON.parse(textOf(data));
      const rest = JSON.parse(`[${textOf(bytes.subarray(from))}`) as unknown[];
      items = [...items, ...rest];
    } else if (from !== bytes.length) {
      return JSON.parse(textOf(data));
    }
    if (items.length !== ends.length) return JSON.parse(textOf(data));
    this.#bytes = bytes;
    this.#items = items;
    this.#ends = ends;
    return items.map(copyOf);
  }

  /** How many items, from the first on, are the same as in the previous text. */
  #sameItems(bytes: Buffer): number {
    if (this.#bytes === undefined) return 0;
    const limit = Math.min(bytes.length, this.#bytes.length);
    const prefix = commonPrefixLength(this.#bytes, 0, bytes, 0, limit);
    let low = 0;
    let high = this.#ends.length;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.#ends[middle - 1]! <= prefix) low = middle;
      else high = middle - 1;
    }
    // The last of these items may be longer in this text, as 123 also begins with 12.
    const next = low === 0 ? undefined : bytes[this.#ends[low - 1]!];
    return next === bytesOf.comma || next === bytesOf.close ? low : Math.max(0, low - 1);
  }
}

/** Finds where the items of an array end, starting between two of them; false if the text is not one array up to its end. */
function findEnds(bytes: Buffer, from: number, into: number[]): boolean {
  let depth = 0;
  for (let at = from; at < bytes.length; at += 1) {
    const byte = bytes[at]!;
    if (byte === bytesOf.quote) {
      at = endOfString(bytes, at);
    } else if (byte === bytesOf.open || byte === bytesOf.brace) {
      depth += 1;
    } else if (depth > 0 && (byte === bytesOf.close || byte === bytesOf.unbrace)) {
      depth -= 1;
    } else if (depth === 0 && byte === bytesOf.comma) {
      into.push(at);
    } else if (byte === bytesOf.close) {
      into.push(at);
      return at === bytes.length - 1;
    }
  }
  return false;
}

/** Where the string that opens at `at` closes. Strings are most of the text, and `indexOf` is the fastest way over them. */
function endOfString(bytes: Buffer, at: number): number {
  for (
    let end = bytes.indexOf(bytesOf.quote, at + 1);
    end >= 0;
    end = bytes.indexOf(bytesOf.quote, end + 1)
  ) {
    let slashes = 0;
    while (bytes[end - 1 - slashes] === bytesOf.backslash) slashes += 1;
    if (slashes % 2 === 0) return end;
  }
  return bytes.length;
}

function copyOf(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map(copyOf);
  const copy: JsonRecord = {};
  for (const key of Object.keys(value)) setOwn(copy, key, copyOf((value as JsonRecord)[key]));
  return copy;
}
