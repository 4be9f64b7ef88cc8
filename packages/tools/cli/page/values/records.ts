import type { CutRecord, Path } from "../../src/operations/index.ts";
import {
  contentKey,
  contentOf,
  isCollection,
  isLangChain,
  isObject,
  type JsonObject,
  type LangChainRecord,
} from "../../src/operations/values/records.ts";

export { contentKey, contentOf, isCollection, isLangChain, isObject, type JsonObject, type LangChainRecord };

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

/** The class of a built-in object's record: "Map", "Error", …; undefined for other records. */
export function className(value: JsonObject): string | undefined {
  if (value["lc"] !== 2 || value["type"] !== "constructor" || !Array.isArray(value["id"])) return undefined;
  return String((value["id"] as unknown[])[0]);
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
