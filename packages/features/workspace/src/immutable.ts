type Plain = Record<PropertyKey, unknown>;

/** Whether a value is a list or an object literal. All others (Map, Set, dates, messages) are taken as a whole. */
function isPlain(value: unknown): value is Plain {
  if (typeof value !== "object" || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return Array.isArray(value) || prototype === null || prototype === Object.prototype;
}

function copyOf(value: Plain): Plain {
  if (Array.isArray(value)) return value.slice() as unknown as Plain;
  return Object.getPrototypeOf(value) === null
    ? Object.assign(Object.create(null) as Plain, value)
    : { ...value };
}

/**
 * The value with `next` at a path of keys and positions; `value` itself if that is there already. Whatever isn't on the path is shared, and nothing is changed in
 * place. Objects and lists that are missing on the way are made.
 * @throws TypeError if the path leads through something else, past the end of a list, or through "__proto__"
 */
export function set<T>(value: T, path: readonly (string | number)[], next: unknown): T {
  const [key, ...rest] = path;
  if (key === undefined) return next as T;
  const at: unknown = value ?? (typeof key === "number" ? [] : {});
  const isPlace = Array.isArray(at)
    ? typeof key === "number" && Number.isInteger(key) && key >= 0 && key <= at.length
    : isPlain(at);
  if (!isPlace || key === "__proto__")
    throw new TypeError(
      `set can't go to ${JSON.stringify(key)} of ${Array.isArray(at) ? `a list of ${at.length}` : typeof at}.`,
    );
  const before = Object.hasOwn(at as Plain, key) ? (at as Plain)[key] : undefined;
  const after = set(before, rest, next);
  if (Object.is(before, after) && Object.hasOwn(at as Plain, key)) return value;
  const copy = copyOf(at as Plain);
  copy[key] = after;
  return copy as T;
}

/**
 * What a recipe makes of a value by changing a draft of it: `update(state, (draft) => { draft.todo.push("call") })`. The value isn't changed;
 * what the recipe leaves as it was is shared, and if that is everything, the result is `value` itself. A recipe may return a new value
 * instead. Only lists and object literals are drafts; a Map or a message has to be replaced as a whole.
 */
export function update<T>(value: T, recipe: (draft: T) => T | undefined | void): T {
  const drafts = new WeakMap<object, { readonly base: Plain; readonly copy: Plain; result?: unknown }>();
  const draftOf = (base: Plain): Plain => {
    const copy = copyOf(base);
    const draft = new Proxy(copy, {
      get(_, key) {
        if (!Object.hasOwn(copy, key))
          return key === "__proto__" ? undefined : (Reflect.get(copy, key, draft) as unknown);
        const inner = copy[key];
        if (!isPlain(inner) || drafts.has(inner)) return inner;
        return (copy[key] = draftOf(inner));
      },
      set: (_, key, next) => key !== "__proto__" && Reflect.set(copy, key, next),
    });
    drafts.set(draft, { base, copy });
    return draft;
  };
  /** What stands where a draft did, or a new value that may hold drafts. */
  const settled = (found: unknown): unknown => {
    if (!isPlain(found)) return found;
    const draft = drafts.get(found) ?? { base: found, copy: copyOf(found) };
    if ("result" in draft) return draft.result;
    const { base, copy } = draft;
    draft.result = copy;
    for (const key of Reflect.ownKeys(copy))
      if (copy[key] !== base[key] || !drafts.has(found)) copy[key] = settled(copy[key]);
    const keys = Reflect.ownKeys(base);
    const isSame =
      keys.length === Reflect.ownKeys(copy).length &&
      keys.every((key) => Object.hasOwn(copy, key) && Object.is(copy[key], base[key]));
    if (isSame) draft.result = base;
    return draft.result;
  };
  const draft = isPlain(value) ? (draftOf(value) as T) : value;
  const made = recipe(draft);
  return settled(made === undefined ? draft : made) as T;
}
