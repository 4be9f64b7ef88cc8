import { gapOfObject, isGap, itemsOf, others, type Gap, type Item } from "./items.ts";
import { contentKey, formatPath, isCut, isObject, type JsonObject, type Step } from "./records.ts";

/**
 * JSON with the value at a path replaced. Everything that isn't on the path is shared with the old JSON.
 * @param before the part of the path that was followed already; it is needed to recognise gaps in lists
 */
export function updated(
  root: unknown,
  path: readonly Step[],
  change: (value: unknown) => unknown,
  before: readonly Step[] = [],
): unknown {
  const key = contentKey(root);
  if (key !== undefined) {
    const record = root as JsonObject;
    if (key !== "args") return { ...record, [key]: updated(record[key], path, change, before) };
    const [content, ...more] = record["args"] as unknown[];
    return { ...record, args: [updated(content, path, change, before), ...more] };
  }
  const [step, ...rest] = path;
  if (step === undefined) return change(root);
  const next = (value: unknown): unknown => updated(value, rest, change, [...before, step]);
  if (Array.isArray(root)) {
    // A gap stands for several items, so an item's place in the array isn't always its position in the list.
    const place = itemsOf(root, formatPath(before)).findIndex(
      (part) => !isGap(part) && part.index === Number(step),
    );
    return place === -1 ? root : root.with(place, next(root[place]));
  }
  if (!isObject(root) || !Object.hasOwn(root, step)) return root;
  return { ...root, [step]: next(root[step]) };
}

/** A loaded slice of a list, a text or an object. */
export interface Loaded {
  readonly from: number;
  /** Undefined: to the end. */
  readonly to: number | undefined;
  /** The slice as JSON, as an operation returns it. */
  readonly value: unknown;
}

/**
 * JSON with an omitted part filled in.
 * @param path of the list, text or object that contains the part
 * @param base the path of `root` if it isn't the whole channel; `path` begins with it
 */
export function filled(
  root: unknown,
  path: readonly Step[],
  loaded: Loaded,
  base: readonly Step[] = [],
): unknown {
  const change = (old: unknown): unknown => joined(old, formatPath(path), loaded);
  return updated(root, path.slice(base.length), change, base);
}

function joined(old: unknown, path: string, { from, to, value }: Loaded): unknown {
  if (isCut(old) && old.begins !== undefined)
    return old.begins.length === from ? joinedText(old.begins, value) : old;
  if (Array.isArray(old) || isCut(old)) {
    const loadedItems = Array.isArray(value) || isCut(value) ? itemsFrom(value, path, from) : undefined;
    if (loadedItems !== undefined) return joinedList(itemsOf(old, path), loadedItems, path, from, to);
    // One record stood for the whole object.
    return value;
  }
  if (isObject(old) && isObject(value)) return joinedObject(old, path, value, to);
  return old;
}

/** Joins a text's beginning and the next part. The result is the whole text, or still a record if the end is missing. */
function joinedText(begins: string, more: unknown): unknown {
  if (typeof more === "string") return begins + more;
  return isCut(more) && more.begins !== undefined ? { ...more, begins: begins + more.begins } : more;
}

/** As {@link itemsOf}, for a slice that begins at `from`. */
function itemsFrom(list: unknown, path: string, from: number): (Item | Gap)[] {
  let shift = from;
  return itemsOf(list, path).map((part) => {
    // Gaps have positions in the whole list, and so do the items after a gap.
    if (isGap(part)) shift = 0;
    return isGap(part) ? part : { ...part, index: part.index + shift };
  });
}

function joinedList(
  old: readonly (Item | Gap)[],
  added: readonly (Item | Gap)[],
  path: string,
  from: number,
  to: number | undefined,
): unknown[] {
  const end = to ?? Infinity;
  const parts: (Item | Gap)[] = [];
  let isIn = false;
  for (const part of old) {
    const inside = isGap(part) && part.from < end && part.to > from;
    if (!inside) {
      parts.push(part);
      continue;
    }
    const each = part.bytes / (part.to - part.from);
    if (part.from < from)
      parts.push({ from: part.from, to: from, bytes: Math.ceil(each * (from - part.from)) });
    if (!isIn) parts.push(...added);
    isIn = true;
    if (part.to > end) parts.push({ from: end, to: part.to, bytes: Math.ceil(each * (part.to - end)) });
  }
  return parts.map((part) => (isGap(part) ? cutOf(part, path) : part.value));
}

function joinedObject(old: JsonObject, path: string, value: JsonObject, to: number | undefined): JsonObject {
  const gap = gapOfObject(old);
  if (gap === undefined) return old;
  const { [others]: _gap, ...kept } = old;
  const result: JsonObject = { ...kept, ...value };
  if (Object.hasOwn(value, others) || to === undefined || to >= gap.to) return result;
  const left = { from: to, to: gap.to, bytes: Math.ceil((gap.bytes * (gap.to - to)) / (gap.to - gap.from)) };
  return { ...result, [others]: cutOf(left, path) };
}

function cutOf({ from, to, bytes }: Gap, path: string): JsonObject {
  return { lc: 2, type: "sg:cut", path: `${path}[${from}:${to}]`, bytes, items: to - from };
}
