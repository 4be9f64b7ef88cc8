import { parsePath, type Path } from "./path.ts";
import { contentKey, contentOf, isLangChain, isObject, type JsonObject } from "./records.ts";

/** Stands for a value that isn't shown, because the config's `redact` names it. A serde that is given it refuses it. */
export const redactedRecord = Object.freeze({ lc: 2, type: "sg:redacted" } as const);

/** Stands for a text that may tell what isn't shown. */
export const redactedText = "(redacted)";

/** Whether a part of JSON is a {@link redactedRecord}. */
export function isRedacted(value: unknown): boolean {
  return isObject(value) && value["lc"] === 2 && value["type"] === redactedRecord.type;
}

/**
 * Takes out of JSON what isn't to be shown. A path such as `messages.*.content` begins with a channel; `*` stands for every item or
 * property. It also holds where the channel's name is a property inside another value: in a graph's input, in what is sent to a
 * node, in an update.
 */
export class Redaction {
  readonly #paths: readonly Path[];

  /** @param paths such as `messages.*.content` @throws InvalidOptionError */
  constructor(paths: readonly string[]) {
    this.#paths = paths.map(parsePath).filter((path) => path.length > 0);
  }

  /** Whether anything is taken out at all. */
  get isActive(): boolean {
    return this.#paths.length > 0;
  }

  /** Whether a channel as a whole isn't shown. */
  hides(channel: string): boolean {
    return this.#paths.some(([first, ...rest]) => rest.length === 0 && names(first, channel));
  }

  /**
   * The JSON of a channel's value, or of a part of it, without what isn't to be shown. Changes what it is given.
   * @param at where in the channel the part is
   */
  apply(channel: string, json: unknown, at: Path = []): unknown {
    let left = json;
    for (const [first, ...rest] of this.#paths) {
      if (names(first, channel)) left = within(left, at, rest);
      if (typeof first === "string" && first !== "*") inside(left, first, rest);
    }
    return left;
  }

  /**
   * The JSON of a message, whichever channel holds it, without what isn't to be shown of the items of any list. Changes what it is given.
   */
  message(json: unknown): unknown {
    let left = json;
    for (const [first, second, ...rest] of this.#paths) {
      const ofItems = second === "*" || typeof second === "number";
      const ofAll = second === undefined && names(first, "messages");
      if (ofItems || ofAll) left = below(left, rest);
      if (typeof first === "string" && first !== "*")
        inside(left, first, second === undefined ? [] : [second, ...rest]);
    }
    return left;
  }
}

function names(segment: Path[number] | undefined, key: string | number): boolean {
  return segment === "*" || String(segment) === String(key);
}

/** Redacts a part that is `at` so many steps below where `path` begins. */
function within(value: unknown, at: Path, path: Path): unknown {
  for (const [n, step] of at.entries()) {
    if (n === path.length) return redactedRecord;
    if (typeof step === "object" || !names(path[n], step)) return value;
  }
  return below(value, path.slice(at.length));
}

/**
 * Redacts what `path` leads to. Where the value has another form than the path expects, such as a text where a message could be, the
 * whole of it is taken out: rather too much than too little.
 */
function below(value: unknown, path: Path): unknown {
  const [segment, ...rest] = path;
  if (segment === undefined) return redactedRecord;
  // The update of a list may be a single item.
  if (segment === "*" && isLangChain(value)) return below(value, rest);
  const content = contentOf(value);
  if (typeof content === "string") return redactedRecord;
  if (typeof content !== "object" || content === null) return value;
  if (Array.isArray(content) && segment !== "*" && !/^\d+$/.test(String(segment))) return redactedRecord;
  const parts = content as JsonObject;
  // A message as plain data, as diffs have it, holds its fields one level deeper.
  if (isObject(parts["data"]) && segment !== "*" && !Object.hasOwn(parts, String(segment)))
    below(parts["data"], path);
  for (const key of Object.keys(parts)) if (names(segment, key)) parts[key] = below(parts[key], rest);
  return value;
}

/** Redacts wherever a property has the name that a path begins with. */
function inside(value: unknown, name: string, path: Path): void {
  if (typeof value !== "object" || value === null) return;
  const record = value as JsonObject;
  for (const key of Object.keys(record)) {
    if (key === name && contentKey(record) !== key && !Array.isArray(value))
      record[key] = below(record[key], path);
    inside(record[key], name, path);
  }
}
