import { formatPath } from "./formatPath.ts";
import { wrongPath, type Path, type Segment, type Slice } from "./path.ts";
import { contentOf, isObject, type JsonObject } from "./records.ts";

/** What a path leads to. */
export interface Found {
  readonly value: unknown;
  /** The path, with indexes counted from the beginning, and without the slice at its end. */
  readonly path: Path;
  /** The position of the first item or character if the path ends with a slice; otherwise 0. */
  readonly from: number;
}

/** Follows a path into the serde's JSON of a value; undefined if it leads nowhere. */
export function resolve(value: unknown, path: Path): Found | undefined {
  let at = value;
  const resolved: Segment[] = [];
  for (const [n, segment] of path.entries()) {
    const content = contentOf(at);
    if (isSlice(segment)) {
      if (n < path.length - 1)
        throw wrongPath(formatPath(path), "A part such as [10:20] may only be at its end.");
      const value = sliced(content, segment);
      return value === undefined ? undefined : { value, path: resolved, from: segment.from };
    }
    const key = keyIn(content, segment);
    if (key === undefined) return undefined;
    at = (content as JsonObject)[key];
    resolved.push(key);
  }
  return { value: at, path: resolved, from: 0 };
}

/**
 * Sets the value at a path. Changes `root`, unless the path is empty.
 * @returns the changed root; undefined if the path leads nowhere. Its last part may be a new property, or the index after a list's
 * last item
 */
export function replaced(root: unknown, path: Path, value: unknown): unknown {
  const [last, ...before] = path.toReversed();
  if (last === undefined) return value;
  if (isSlice(last)) throw wrongPath(formatPath(path), "Only one value can be set, not a part of a list.");
  const holder = contentOf(resolve(root, before.toReversed())?.value);
  if (Array.isArray(holder)) {
    const index = indexIn(holder, last, holder.length);
    if (index === undefined) return undefined;
    holder[index] = value;
    return root;
  }
  if (!isObject(holder) || typeof last !== "string") return undefined;
  Object.defineProperty(holder, last, { value, writable: true, enumerable: true, configurable: true });
  return root;
}

function isSlice(segment: Segment): segment is Slice {
  return typeof segment === "object";
}

/** The index or own key that a segment means in an array or object. */
function keyIn(content: unknown, segment: string | number): string | number | undefined {
  if (Array.isArray(content)) return indexIn(content, segment, content.length - 1);
  if (!isObject(content)) return undefined;
  const key = String(segment);
  return Object.hasOwn(content, key) ? key : undefined;
}

function indexIn(list: readonly unknown[], segment: string | number, greatest: number): number | undefined {
  if (typeof segment === "string" && !/^\d+$/.test(segment)) return undefined;
  const given = Number(segment);
  const index = given < 0 ? list.length + given : given;
  return index < 0 || index > greatest ? undefined : index;
}

function sliced(content: unknown, { from, to }: Slice): unknown {
  if (typeof content === "string" || Array.isArray(content)) return content.slice(from, to);
  if (!isObject(content)) return undefined;
  return Object.fromEntries(Object.entries(content).slice(from, to));
}
