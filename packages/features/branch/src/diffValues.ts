import { jsonValue, sameValue } from "./plainValue.ts";
import { idOf } from "./unionById.ts";

/** One difference inside a value. `before` and `after` are plain JSON. */
export interface Change {
  readonly kind: "added" | "removed" | "changed";
  /** The place in the value: a JSON pointer (`/a/0`), with `#id` for an item in a list of items with ids; `""` is the value itself. */
  readonly path: string;
  readonly before?: unknown;
  readonly after?: unknown;
}

/**
 * The differences between two values. Messages and other items with ids are compared by id; objects, Maps and lists by path.
 * `undefined` stands for no value.
 */
export function diffValues(before: unknown, after: unknown, path = ""): Change[] {
  if (sameValue(before, after)) return [];
  if (before === undefined) return [{ kind: "added", path, after: jsonValue(after) }];
  if (after === undefined) return [{ kind: "removed", path, before: jsonValue(before) }];
  const items = [before, after].every(areItems);
  const [one, other] = [partsOf(before, items), partsOf(after, items)];
  if (one !== undefined && other !== undefined && one.kind === other.kind) {
    const found: Change[] = [];
    for (const key of new Set([...one.parts.keys(), ...other.parts.keys()])) {
      const [a, b] = [one.parts.get(key), other.parts.get(key)];
      // A changed item with an id is shown as a whole, before and after.
      if (one.kind === "items" && a !== undefined && b !== undefined && !sameValue(a, b))
        found.push({ kind: "changed", path: `${path}#${key}`, before: jsonValue(a), after: jsonValue(b) });
      else
        found.push(...diffValues(a, b, one.kind === "items" ? `${path}#${key}` : `${path}/${escaped(key)}`));
    }
    if (found.length > 0) return found;
  }
  return [{ kind: "changed", path, before: jsonValue(before), after: jsonValue(after) }];
}

function escaped(key: string): string {
  return key.replaceAll("~", "~0").replaceAll("/", "~1");
}

interface Parts {
  readonly kind: "items" | "list" | "object";
  readonly parts: ReadonlyMap<string, unknown>;
}

/** Whether a value is a list of items with ids; an empty list may be one. */
function areItems(value: unknown): boolean {
  if (!Array.isArray(value)) return false;
  const ids = value.map(idOf);
  return ids.every((id) => id !== undefined) && new Set(ids).size === ids.length;
}

function partsOf(value: unknown, items: boolean): Parts | undefined {
  if (Array.isArray(value)) {
    const named = value.map((item: unknown, n): [string, unknown] => [items ? idOf(item)! : String(n), item]);
    return { kind: items ? "items" : "list", parts: new Map(named) };
  }
  if (value instanceof Map)
    return { kind: "object", parts: new Map([...value].map(([key, item]) => [String(key), item])) };
  if (typeof value !== "object" || value === null) return undefined;
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) return undefined;
  return { kind: "object", parts: new Map(Object.entries(value)) };
}
