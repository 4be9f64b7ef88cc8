import { sameValue } from "./plainValue.ts";
import type { Union, UnionOrder } from "./union.ts";

/** The id of an item, if it has one. */
export function idOf(item: unknown): string | undefined {
  if (typeof item !== "object" || item === null) return undefined;
  const { id } = item as { id?: unknown };
  return typeof id === "string" && id !== "" ? id : undefined;
}

type Items = ReadonlyMap<string, unknown>;

/**
 * Merges lists of items with ids, such as messages. If one side changed or removed an item, it is changed or removed in the result. If
 * both changed it differently, the merge is unsettled. Items that both sides have keep their order. The additions of a side stay
 * together, right after the item that they were added after, and those of the side that began its work first come first. So a tool's
 * answer stays right after the tool call, and the result doesn't depend on which side is called ours.
 */
export function unionById(
  sides: {
    readonly base: readonly unknown[];
    readonly ours: readonly unknown[];
    readonly theirs: readonly unknown[];
  },
  order: UnionOrder,
  path: string,
): Union {
  const byId = (items: readonly unknown[]): Items => new Map(items.map((item) => [idOf(item)!, item]));
  const [base, ours, theirs] = [byId(sides.base), byId(sides.ours), byId(sides.theirs)];
  if (ours.size !== sides.ours.length || theirs.size !== sides.theirs.length)
    return { unsettled: `${path === "" ? "it" : path} has two items of one id` };
  const kept = new Map<string, unknown>();
  for (const id of new Set([...ours.keys(), ...theirs.keys()])) {
    const item = { base: base.get(id), ours: ours.get(id), theirs: theirs.get(id) };
    if (sameValue(item.ours, item.theirs) || sameValue(item.theirs, item.base)) kept.set(id, item.ours);
    else if (sameValue(item.ours, item.base)) kept.set(id, item.theirs);
    else return { unsettled: `both sides changed the item ${id}` };
  }
  const skeleton = commonOrder(base, ours, theirs);
  if (skeleton === undefined) return { unsettled: "both sides put the items into another order" };
  const shared = new Set(skeleton);
  const gaps = new Map<string, { id: string; key: string }[]>();
  const fill = (items: Items, side: string): void => {
    let after = "";
    for (const id of items.keys()) {
      if (shared.has(id)) after = id;
      else gaps.set(after, [...(gaps.get(after) ?? []), { id, key: order.taken.get(id) ?? side }]);
    }
  };
  fill(ours, order.ours);
  fill(theirs, order.theirs);
  const value: unknown[] = [];
  for (const id of ["", ...skeleton]) {
    if (id !== "" && kept.get(id) !== undefined) value.push(kept.get(id));
    const added = (gaps.get(id) ?? []).sort((a, b) => (a.key < b.key ? -1 : Number(a.key > b.key)));
    for (const { id: own, key } of added) {
      if (kept.get(own) === undefined) continue;
      order.taken.set(own, key);
      value.push(kept.get(own));
    }
  }
  return { value };
}

/** The ids that both sides have, in the order of the side that changed the order. Undefined if both changed it differently. */
function commonOrder(base: Items, ours: Items, theirs: Items): string[] | undefined {
  const mine = [...ours.keys()].filter((id) => theirs.has(id));
  const others = [...theirs.keys()].filter((id) => ours.has(id));
  const same = (a: readonly string[], b: readonly string[]): boolean => a.join("\0") === b.join("\0");
  if (same(mine, others)) return mine;
  const before = [...base.keys()].filter((id) => ours.has(id) && theirs.has(id));
  if (before.length !== mine.length) return undefined;
  if (same(mine, before)) return others;
  return same(others, before) ? mine : undefined;
}
