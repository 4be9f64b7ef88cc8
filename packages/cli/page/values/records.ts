import type { CutRecord, Path } from "../../src/operations/index.ts";

/*
 * How the page reads the serde's JSON that operations show. The rules are those of @stratigraph/cli/operations, whose code needs Node. A
 * test compares both.
 */

/** An object of the serde's JSON. */
export type JsonObject = Record<string, unknown>;

export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Whether a part of JSON stands for omitted content. */
export function isCut(value: unknown): value is CutRecord {
  return isObject(value) && value["lc"] === 2 && value["type"] === "sg:cut";
}

/** Whether any part of JSON was left out. */
export function hasCut(value: unknown): boolean {
  if (isCut(value)) return true;
  return typeof value === "object" && value !== null && Object.values(value).some(hasCut);
}

/** Whether a part of JSON stands for content that the config's `redact` hides. */
export function isRedacted(value: unknown): boolean {
  return isObject(value) && value["lc"] === 2 && value["type"] === "sg:redacted";
}

/** The record of a LangChain object, such as a message. */
export type LangChainRecord = JsonObject & { readonly id: readonly unknown[]; readonly kwargs: JsonObject };

export function isLangChain(value: unknown): value is LangChainRecord {
  return (
    isObject(value) &&
    value["lc"] === 1 &&
    value["type"] === "constructor" &&
    Array.isArray(value["id"]) &&
    isObject(value["kwargs"])
  );
}

/** Whether a record stands for a Map or a Set. */
export function isCollection(value: JsonObject): boolean {
  const name = className(value);
  return (name === "Map" || name === "Set") && Array.isArray(value["args"]);
}

/** The class of a built-in object's record: "Map", "Error", …; undefined for other records. */
export function className(value: JsonObject): string | undefined {
  if (value["lc"] !== 2 || value["type"] !== "constructor" || !Array.isArray(value["id"])) return undefined;
  return String((value["id"] as unknown[])[0]);
}

/** Records whose content is in the property `value`. */
const wrappers: ReadonlySet<unknown> = new Set([
  "delta_snapshot",
  "sg:bytes",
  "sg:null-prototype",
  "sg:plain",
  "sg:type",
]);

/** The property that has the content of a record. Paths leave it out. Undefined if the value isn't such a record. */
export function contentKey(value: unknown): string | undefined {
  if (isLangChain(value)) return "kwargs";
  if (!isObject(value)) return undefined;
  if (value["lc"] === 2) {
    if (wrappers.has(value["type"])) return "value";
    return isCollection(value) ? "args" : undefined;
  }
  const [key, ...others] = Object.keys(value);
  return key === "__lc_escaped__" && others.length === 0 ? key : undefined;
}

/** The value without the records around it: an array, a plain object, a text, … */
export function contentOf(value: unknown): unknown {
  let at = value;
  for (let key = contentKey(at); key !== undefined; key = contentKey(at)) {
    const record = at as JsonObject;
    at = key === "args" ? (record["args"] as unknown[])[0] : record[key];
  }
  return at;
}

/** One step of a path. */
export type Step = string | number;

const plainKey = /^[^.[\]"\s]+$/;

/** Writes a path in the form that operations accept: `[3].content`. */
export function formatPath(path: Path): string {
  return path
    .map((step, n) => {
      if (typeof step === "number") return `[${step}]`;
      if (typeof step !== "string") return `[${step.from}:${step.to ?? ""}]`;
      if (!plainKey.test(step)) return `[${JSON.stringify(step)}]`;
      return n === 0 ? step : `.${step}`;
    })
    .join("");
}

/** A path with the name of its channel in front, as `blame` accepts it. */
export function channelPath(channel: string, path: Path): string {
  return formatPath([channel, ...path]);
}

/** The part of a list, a text or an object that a cut record stands for. */
export interface CutRange {
  /** The path of the list, text or object. */
  readonly of: string;
  readonly from: number;
  /** Undefined: to the end. */
  readonly to: number | undefined;
}

export function rangeOf({ path }: CutRecord): CutRange | undefined {
  const found = /\[(\d+):(\d*)\]$/.exec(path);
  if (found === null) return undefined;
  const [all, from, to] = found;
  return {
    of: path.slice(0, -all.length),
    from: Number(from),
    to: to === "" ? undefined : Number(to),
  };
}
