import type { ParsedValue } from "./view.ts";

/** A value from which on reading and parsing it takes longer than a look at it should, in bytes as JSON. */
const longValue = 500_000;

/**
 * JSON of the long values that were looked at last. Who looks around in one asks for part after part of it, and each would have to be
 * read and parsed as a whole. Nobody may change what is in here.
 */
export class ParsedValues {
  readonly #most: number;
  readonly #values = new Map<string, ParsedValue>();
  #bytes = 0;

  /** @param most bytes as JSON that are kept; in memory, values take several times as much. Default 32 MB: two values of 12 MB */
  constructor(most = 32_000_000) {
    this.#most = most;
  }

  /** @param name identifies the value: other values have other names */
  get(name: string): ParsedValue | undefined {
    const found = this.#values.get(name);
    if (found === undefined) return undefined;
    this.#values.delete(name);
    this.#values.set(name, found);
    return found;
  }

  /** Keeps a value if it is a long one, and drops those that weren't asked for for the longest time if they are too many. */
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
