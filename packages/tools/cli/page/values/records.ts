import type { CutRecord, Path } from "../../src/operations/index.ts";
import { formatPath } from "../../src/operations/values/formatPath.ts";
import type { JsonObject } from "../../src/operations/values/records.ts";

export { hasCut, isCut } from "../../src/operations/values/cut.ts";
export { formatPath };
export {
  contentKey,
  contentOf,
  isCollection,
  isLangChain,
  isObject,
  isRedacted,
  type JsonObject,
  type LangChainRecord,
} from "../../src/operations/values/records.ts";

/** The class of a built-in object's record: "Map", "Error", …; undefined for other records. */
export function className(value: JsonObject): string | undefined {
  if (value["lc"] !== 2 || value["type"] !== "constructor" || !Array.isArray(value["id"])) return undefined;
  return String((value["id"] as unknown[])[0]);
}

/** One step of a path. */
export type Step = string | number;

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
