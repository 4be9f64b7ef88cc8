import { isObject, type JsonObject } from "./records.ts";

/** Replaces the contents of JSON by what is told about them. */
export class Outline {
  readonly #texts = new Map<string, number>();

  /**
   * JSON of the serde with every text replaced by its length and a number. The same text gets the same number, so that ids can still be
   * matched. What stays are names of properties and classes, numbers, and yes or no.
   * @param isData whether it is data even where it looks like a record
   */
  of(value: unknown, isData = false): unknown {
    if (typeof value === "string") return this.#text(value);
    if (Array.isArray(value)) return value.map((item) => this.of(item));
    if (!isObject(value)) return value;
    const structural = isData ? none : structuralKeys(value);
    // What is escaped is data, whatever it looks like.
    const escapes = !isData && value["type"] === "sg:plain";
    return Object.fromEntries(
      Object.entries(value).map(([key, part]) => [key, structural.has(key) ? part : this.of(part, escapes)]),
    );
  }

  #text(text: string): string {
    const known = this.#texts.get(text) ?? this.#texts.size + 1;
    this.#texts.set(text, known);
    return `(text ${known}, ${text.length} characters)`;
  }
}

const none: ReadonlySet<string> = new Set();
const ofRecords: ReadonlySet<string> = new Set(["lc", "type", "class", "path"]);
const ofConstructors: ReadonlySet<string> = new Set(["lc", "type", "id", "method"]);

/** Properties that say what a record is rather than what it holds. */
function structuralKeys(value: JsonObject): ReadonlySet<string> {
  if (value["lc"] !== 1 && value["lc"] !== 2) return none;
  if (value["type"] === "constructor") return ofConstructors;
  // Data could call itself anything, if the serde didn't escape what looks like its records.
  return typeof value["type"] === "string" && /^(sg:\w+|undefined|delta_snapshot)$/.test(value["type"])
    ? ofRecords
    : none;
}
