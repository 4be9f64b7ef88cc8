import { sameValue } from "./plainValue.ts";
import type { ThreeWay, Union, UnionOrder } from "./union.ts";
import { idOf, unionById } from "./unionById.ts";

/**
 * Merges the changes that both sides made to a collection since the base: lists of items with ids by {@link unionById}, objects and
 * Maps by key, Sets by member, and other lists if both sides only appended to them. The result doesn't depend on which side is called
 * ours.
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
