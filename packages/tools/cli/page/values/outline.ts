import { isObject, type JsonObject } from "./records.ts";

/** Replaces the contents of JSON by descriptions. */
export class Outline {
  readonly #texts = new Map<string, number>();

  /**
   * JSON of the serde with every text replaced by its length and a number. The same text gets the same number, so that ids can still be
   * matched. Names of properties and classes, numbers and booleans stay unchanged.
   * @param isData whether it is data even if it looks like a record
   */
  of(value: unknown, isData = false): unknown {
    if (typeof value === "string") return this.#text(value);
    if (Array.isArray(value)) return value.map((item) => this.of(item));
    if (!isObject(value)) return value;
    const structural = isData ? none : structuralKeys(value);
    // Escaped values are data, even if they look like a record.
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

/** Properties that give a record's type rather than its content. */
function structuralKeys(value: JsonObject): ReadonlySet<string> {
  if (value["lc"] !== 1 && value["lc"] !== 2) return none;
  if (value["type"] === "constructor") return ofConstructors;
  // This relies on the serde: it escapes data that looks like one of its records.
  return typeof value["type"] === "string" && /^(sg:\w+|undefined|delta_snapshot)$/.test(value["type"])
    ? ofRecords
    : none;
}
