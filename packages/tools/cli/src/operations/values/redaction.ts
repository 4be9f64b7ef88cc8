import { INTERRUPT } from "@langchain/langgraph-checkpoint";
import { parsePath, type Path } from "./path.ts";
import {
  contentKey,
  contentOf,
  isLangChain,
  isObject,
  isRedacted,
  type JsonObject,
  redactedRecord,
} from "./records.ts";

/** Stands for a text that may contain what isn't shown. */
export const redactedText = "(redacted)";

/**
 * Takes out of JSON what isn't to be shown. A path such as `messages.*.content` begins with a channel; `*` stands for every item or
 * property. It also holds where the channel's name is a property inside another value: in a graph's input, in what is sent to a
 * node, in an update.
 */
export class Redaction {
  readonly #paths: readonly Path[];

  /** @param paths such as `messages.*.content` @throws InvalidOptionError */
  constructor(paths: readonly string[]) {
    this.#paths = paths.map((path) => parsePath(path).map(everyOne)).filter((path) => path.length > 0);
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
   * How many steps of the way to a part of a channel may be shown. What follows them is hidden as a whole, including names of
   * properties and ids of items. If nothing on the way is hidden, all steps may be shown.
   * @param at where in the channel the part is. "*" stands for an item whose position isn't known
   */
  shownSteps(channel: string, at: Path): number {
    const lengths = this.#ways(channel, at).map(({ from, path }) => {
      const found = hiddenAfter(at.slice(from), path);
      return typeof found === "number" ? from + found : at.length;
    });
    return Math.min(at.length, ...lengths);
  }

  /**
   * The JSON of a channel's value, or of a part of it, without what isn't to be shown. Changes what it is given.
   * @param at where in the channel the part is. "*" stands for an item whose position isn't known
   */
  apply(channel: string, json: unknown, at: Path = []): unknown {
    let left = json;
    for (const { from, path } of this.#ways(channel, at)) left = within(left, at.slice(from), path);
    for (const [first, ...rest] of this.#paths)
      if (typeof first === "string" && first !== "*") inside(left, first, rest);
    // Before LangGraph 1.7 a question is stored as one record, not as a list: a path holds for what is asked, too.
    const record = channel === INTERRUPT && at.length === 0 ? contentOf(left) : undefined;
    if (isObject(record) && "value" in record)
      for (const { path } of this.#ways(channel, at)) record["value"] = below(record["value"], path);
    return left;
  }

  /** The paths that begin at the channel or at a property on the way to a part: after how many steps, and the rest of the path. */
  #ways(channel: string, at: Path): { readonly from: number; readonly path: Path }[] {
    return this.#paths.flatMap(([first, ...path]) => {
      const begins = first === "*" ? [] : [...at.keys()].filter((n) => at[n] === first);
      const from = [...(names(first, channel) ? [0] : []), ...begins.map((n) => n + 1)];
      return from.map((n) => ({ from: n, path }));
    });
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

/** A position from the end, or a slice, may mean any item by the time that something is shown: so it stands for all items. */
function everyOne(segment: Path[number]): Path[number] {
  return typeof segment === "object" || (typeof segment === "number" && segment < 0) ? "*" : segment;
}

function names(segment: Path[number] | undefined, key: string | number): boolean {
  return segment === "*" || String(segment) === String(key);
}

/**
 * Compares the steps to a part with a hidden path. Returns after how many steps everything is hidden; "above" if what is hidden is
 * further below; "apart" if it is elsewhere.
 */
function hiddenAfter(steps: Path, path: Path): number | "above" | "apart" {
  for (const [n, step] of steps.entries()) {
    const segment = path[n];
    if (segment === undefined) return n;
    // If the path expects a property and this may be a list, the whole list is taken out, as in `below`.
    if (isPosition(step) && segment !== "*" && !isPosition(segment)) return n;
    if (step !== "*" && (typeof step === "object" || !names(segment, step))) return "apart";
  }
  return steps.length === path.length ? steps.length : "above";
}

function isPosition(segment: Path[number]): boolean {
  return typeof segment !== "object" && /^\d+$/.test(String(segment));
}

/** Redacts a part. `at` are the steps to it from where `path` begins. */
function within(value: unknown, at: Path, path: Path): unknown {
  const found = hiddenAfter(at, path);
  if (found === "apart") return value;
  return found === "above" ? below(value, path.slice(at.length)) : redactedRecord;
}

/**
 * Redacts what `path` leads to. If the value has another form than the path expects, such as a text in place of a message, the whole
 * value is taken out: rather too much than too little.
 */
function below(value: unknown, path: Path): unknown {
  const [segment, ...rest] = path;
  if (segment === undefined) return redactedRecord;
  if (isRedacted(value)) return value;
  // The update of a list may be a single item.
  if (segment === "*" && isLangChain(value)) return below(value, rest);
  const content = contentOf(value);
  if (typeof content === "string") return redactedRecord;
  if (typeof content !== "object" || content === null) return value;
  if (Array.isArray(content) && segment !== "*" && !isPosition(segment)) return redactedRecord;
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
  // An entry of a Map is a pair of its key and its value.
  if (Array.isArray(value))
    for (const item of value as unknown[])
      if (Array.isArray(item) && item.length === 2 && item[0] === name) item[1] = below(item[1], path);
  const record = value as JsonObject;
  for (const key of Object.keys(record)) {
    if (key === name && contentKey(record) !== key && !Array.isArray(value))
      record[key] = below(record[key], path);
    inside(record[key], name, path);
  }
}
