import { isCut, rangeOf } from "./records.ts";

/** An item of a list that is loaded. */
export interface Item {
  readonly index: number;
  readonly value: unknown;
}

/** Items that were left out of a list, from `from` up to, but not including, `to`. */
export interface Gap {
  readonly from: number;
  readonly to: number;
  /** Their approximate size as JSON. */
  readonly bytes: number;
}

export function isGap(part: Item | Gap): part is Gap {
  return "from" in part;
}

/**
 * The items of a list by their positions, and the gaps between them.
 * @param list JSON that an operation may have cut; may also be one record in place of the whole list
 * @param path of the list
 */
export function itemsOf(list: unknown, path: string): (Item | Gap)[] {
  const parts: (Item | Gap)[] = [];
  let index = 0;
  for (const value of Array.isArray(list) ? (list as unknown[]) : [list]) {
    const range = isCut(value) && value.items !== undefined ? rangeOf(value) : undefined;
    if (isCut(value) && range !== undefined && range.of === path) {
      const to = range.to ?? range.from + value.items!;
      parts.push({ from: range.from, to, bytes: value.bytes });
      index = to;
    } else {
      parts.push({ index, value });
      index += 1;
    }
  }
  return parts;
}

/** How many items a list has, including those that were left out. */
export function lengthOf(parts: readonly (Item | Gap)[]): number {
  const last = parts.at(-1);
  if (last === undefined) return 0;
  return isGap(last) ? last.to : last.index + 1;
}

/** The name of the property that stands for the omitted properties of an object. */
export const others = "…";

/** The gap that stands for an object's omitted properties. */
export function gapOfObject(object: Readonly<Record<string, unknown>>): Gap | undefined {
  const cut = object[others];
  if (!isCut(cut) || cut.items === undefined) return undefined;
  const range = rangeOf(cut);
  if (range === undefined) return undefined;
  return { from: range.from, to: range.to ?? range.from + cut.items, bytes: cut.bytes };
}
