import { sameValue } from "./plainValue.ts";

/** What a three-way union works on. `undefined` stands for no value. */
export interface ThreeWay {
  readonly base: unknown;
  readonly ours: unknown;
  readonly theirs: unknown;
}

/** Decides which side's additions come first where both added at the same place. */
export interface UnionOrder {
  /** Sorts before the other side's where this side began its work first. */
  readonly ours: string;
  readonly theirs: string;
  /** Per item id: the key of the side that an earlier merge of several took it from. */
  readonly taken: Map<string, string>;
}

/** A union, or why there is none. */
export type Union = { readonly value: unknown } | { readonly unsettled: string };

/**
 * Merges what both sides did to a collection since the base: items by id (messages, objects with an `id`), keys of
 * objects and Maps, members of Sets, and lists that both sides only appended to. Additions of one side stay together, so
 * that an answer keeps standing right after the tool call it answers; the side that began first comes first. So the
 * result doesn't depend on which side is called ours.
 */
export function unionValues({ base, ours, theirs }: ThreeWay, order: UnionOrder, path = ""): Union {
  if (sameValue(ours, theirs) || sameValue(theirs, base)) return { value: ours };
  if (sameValue(ours, base)) return { value: theirs };
  const empty = Array.isArray(ours) ? [] : base;
  const from = base ?? empty;
  if (Array.isArray(ours) && Array.isArray(theirs) && Array.isArray(from)) {
    if ([...from, ...ours, ...theirs].every((item) => idOf(item) !== undefined))
      return unionById({ base: from, ours, theirs }, order, path);
    return unionAppended({ base: from, ours, theirs }, order, path);
  }
  if (ours instanceof Set && theirs instanceof Set) return unionSets(base, ours, theirs);
  if (ours instanceof Map && theirs instanceof Map)
    return unionEntries(
      base instanceof Map ? base : new Map(),
      ours,
      theirs,
      order,
      path,
      (entries) => entries,
    );
  if (isPlain(ours) && isPlain(theirs)) {
    const entries = (value: unknown): Map<unknown, unknown> =>
      new Map(isPlain(value) ? Object.entries(value) : []);
    return unionEntries(entries(base), entries(ours), entries(theirs), order, path, (merged) =>
      Object.fromEntries(merged as Map<string, unknown>),
    );
  }
  const found = [...new Set([kindOf(ours), kindOf(theirs)])].join(" and ");
  const reason = `${found} can't be united: lists, objects, Maps and Sets can, with their like`;
  return { unsettled: `both sides changed ${path === "" ? "it" : path}, and ${reason}` };
}

function kindOf(value: unknown): string {
  if (value === undefined || value === null) return value === null ? "null" : "no value";
  if (Array.isArray(value)) return "a list";
  if (typeof value === "string") return "text";
  return typeof value === "object" ? "an object" : `a ${typeof value}`;
}

function isPlain(value: unknown): value is Record<string, unknown> {
  if (typeof value !== "object" || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

/** An item's own id, where it has one. */
export function idOf(item: unknown): string | undefined {
  if (typeof item !== "object" || item === null) return undefined;
  const { id } = item as { id?: unknown };
  return typeof id === "string" && id !== "" ? id : undefined;
}

type Items = ReadonlyMap<string, unknown>;

function unionById(
  sides: { base: readonly unknown[]; ours: readonly unknown[]; theirs: readonly unknown[] },
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

/** The items that both sides have, in the order of the side that changed it, if only one did. */
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

function unionAppended(
  { base, ours, theirs }: { base: readonly unknown[]; ours: readonly unknown[]; theirs: readonly unknown[] },
  order: UnionOrder,
  path: string,
): Union {
  const begins = (side: readonly unknown[]): boolean => sameValue(side.slice(0, base.length), base);
  if (!begins(ours) || !begins(theirs))
    return { unsettled: `both sides changed ${path === "" ? "it" : path}, and its items have no ids` };
  const [mine, others] = [ours.slice(base.length), theirs.slice(base.length)];
  return { value: [...base, ...(order.ours <= order.theirs ? [...mine, ...others] : [...others, ...mine])] };
}

function unionSets(base: unknown, ours: ReadonlySet<unknown>, theirs: ReadonlySet<unknown>): Union {
  const before: ReadonlySet<unknown> = base instanceof Set ? base : new Set();
  const members = [...new Set([...before, ...ours, ...theirs])];
  return {
    value: new Set(members.filter((one) => (before.has(one) ? ours.has(one) && theirs.has(one) : true))),
  };
}

function unionEntries(
  base: ReadonlyMap<unknown, unknown>,
  ours: ReadonlyMap<unknown, unknown>,
  theirs: ReadonlyMap<unknown, unknown>,
  order: UnionOrder,
  path: string,
  build: (entries: Map<unknown, unknown>) => unknown,
): Union {
  const merged = new Map<unknown, unknown>();
  const keys = [...new Set([...base.keys(), ...ours.keys(), ...theirs.keys()])];
  for (const key of keys) {
    const sides = { base: base.get(key), ours: ours.get(key), theirs: theirs.get(key) };
    const union = unionValues(sides, order, `${path}/${String(key)}`);
    if ("unsettled" in union) return union;
    if (union.value !== undefined) merged.set(key, union.value);
  }
  return { value: build(merged) };
}
