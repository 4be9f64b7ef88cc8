import type { ParsedValue } from "./view.ts";

/** From this size on, in bytes as JSON, reading and parsing a value takes longer than showing a part of it should. */
const longValue = 500_000;

/**
 * JSON of the long values that were shown last. A person who browses in one asks for part after part, and each time the whole value
 * would have to be read and parsed. The JSON in here must not be changed.
 */
export class ParsedValues {
  readonly #most: number;
  readonly #values = new Map<string, ParsedValue>();
  #bytes = 0;

  /** @param most bytes as JSON that are kept; in memory, values take several times as much. Default 32 MB: two values of 12 MB */
  constructor(most = 32_000_000) {
    this.#most = most;
  }

  /** @param name identifies the value: different values have different names */
  get(name: string): ParsedValue | undefined {
    const found = this.#values.get(name);
    if (found === undefined) return undefined;
    this.#values.delete(name);
    this.#values.set(name, found);
    return found;
  }

  /** Keeps a value if it is long. Drops the least recently used ones if there are too many. */
  set(name: string, value: ParsedValue): void {
    if (value.bytes < longValue || value.bytes > this.#most || this.#values.has(name)) return;
    this.#values.set(name, value);
    this.#bytes += value.bytes;
    for (const [oldest, { bytes }] of this.#values) {
      if (this.#bytes <= this.#most) return;
      this.#values.delete(oldest);
      this.#bytes -= bytes;
    }
  }
}
