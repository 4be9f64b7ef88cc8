import { isDocument } from "../serde/encodeStructural.ts";
import { LATE_FIELDS } from "../serde/langChainObject.ts";
import type { JsonRecord } from "../serde/records.ts";
import type { TypeRegistry } from "../serde/typeRegistry.ts";

/** What objects of one kind have in common: how the serializer treats them, their class, and the names of their parts. */
interface Shape {
  readonly kind: "list" | "fields" | "langchain";
  readonly prototype: object;
  /** Names of its parts, in order; empty for a list. */
  readonly keys: readonly string[];
  /** For a LangChain object: the names of fields that aren't among its arguments. */
  readonly lateKeys: readonly string[];
}

/** How many shapes of one class are shared between objects. Objects beyond that have a shape of their own. */
const mostShared = 256;

const shared = new WeakMap<object, Map<string, Shape>>();

const list: Shape = { kind: "list", prototype: Array.prototype, keys: [], lateKeys: [] };

/** Stands for an item with a part that no snapshot can be taken of. */
const UNKNOWN = Symbol("unknown");

/**
 * Copies of all that the serializer looks at in the items of a list, to tell later whether an item changed. Items may consist of
 * primitives, arrays, plain objects, Documents and LangChain objects, whichever copy of their package made them. The copies share
 * strings with the items, but no objects. All parts are in one array, in the order in which they are compared: fetching memory
 * is what takes the time, and a list of messages has a few thousand parts.
 */
export class ItemSnapshots {
  /** A primitive stands for itself. An object is its shape (for a list also its length), followed by its parts. */
  readonly #parts: unknown[] = [];
  /** Where each item begins in `#parts`. */
  readonly #starts: number[] = [];
  /** The place in `#parts` that the present comparison has reached. */
  #at = 0;

  /** The number of items. */
  get length(): number {
    return this.#starts.length;
  }

  /** Adds an item as it is now. Serialise it first: that refuses cycles, on which this method would not end. */
  add(item: unknown, registry: TypeRegistry): void {
    const start = this.#parts.length;
    this.#starts.push(start);
    if (this.#tryPush(item, registry)) return;
    this.#parts.length = start;
    this.#parts.push(UNKNOWN);
  }

  /** Adds the parts of an item. Returns false, too, if a getter or a proxy throws: the item is already serialised, so this must not fail. */
  #tryPush(item: unknown, registry: TypeRegistry): boolean {
    try {
      return this.#push(item, registry);
    } catch {
      return false;
    }
  }

  /** Removes all items but the first `length`. */
  cutTo(length: number): void {
    const start = this.#starts[length];
    if (start === undefined) return;
    this.#starts.length = length;
    this.#parts.length = start;
  }

  /**
   * Whether an item would be serialised to the same bytes as when it was added. Undefined if there is no snapshot of it.
   */
  isSame(index: number, item: unknown): boolean | undefined {
    this.#at = this.#starts[index]!;
    return this.#parts[this.#at] === UNKNOWN ? undefined : this.#same(item);
  }

  /** Adds the parts of a value; false if it has a part that no snapshot can be taken of. */
  #push(value: unknown, registry: TypeRegistry): boolean {
    if (typeof value === "function" || typeof value === "symbol") return false;
    if (typeof value !== "object" || value === null) {
      this.#parts.push(value);
      return true;
    }
    const prototype: unknown = Object.getPrototypeOf(value);
    if (prototype === Array.prototype) {
      this.#parts.push(list, (value as unknown[]).length);
      for (const part of value as unknown[]) if (!this.#push(part, registry)) return false;
      return true;
    }
    if (prototype === Object.prototype) return this.#pushFields(value as JsonRecord, prototype, registry);
    if (prototype === null) return false;
    const start = this.#parts.length;
    if (this.#pushLangChain(value as JsonRecord, prototype as object, registry)) return true;
    this.#parts.length = start;
    // The serializer looks at nothing but the own fields of a Document.
    return (
      registry.typeOf(prototype as object) === undefined &&
      !("lg_name" in value) &&
      isDocument(value as JsonRecord) &&
      this.#pushFields(value as JsonRecord, prototype as object, registry)
    );
  }

  #pushFields(value: JsonRecord, prototype: object, registry: TypeRegistry): boolean {
    const keys = Object.keys(value);
    this.#parts.push(shapeOf("fields", prototype, keys));
    for (const key of keys) if (!this.#push(value[key], registry)) return false;
    return true;
  }

  #pushLangChain(value: JsonRecord, prototype: object, registry: TypeRegistry): boolean {
    const known = registry.langChainOf(prototype) ?? registry.langChainCopyOf(value, prototype)?.copy;
    const given = value.lc_kwargs as JsonRecord;
    // If a class adjusts its arguments, its attributes and secrets may change while the arguments stay the same.
    if (known === undefined || known.adjustsArguments) return false;
    if (Object.getPrototypeOf(given) !== Object.prototype) return false;
    const shape = shapeOf("langchain", prototype, Object.keys(given));
    this.#parts.push(shape);
    for (const key of shape.keys)
      if (!this.#push(key in value ? value[key] : given[key], registry)) return false;
    for (const key of shape.lateKeys) if (!this.#push(value[key], registry)) return false;
    return true;
  }

  #same(value: unknown): boolean {
    const at = this.#at;
    const part = this.#parts[at];
    this.#at += 1;
    if (typeof value === "string") {
      if (part !== value) return false;
      // Remember this string object: if the same one comes next time, comparing takes no time.
      this.#parts[at] = value;
      return true;
    }
    if (typeof part !== "object" || part === null) return Object.is(part, value);
    if (typeof value !== "object" || value === null) return false;
    const shape = part as Shape;
    if (Object.getPrototypeOf(value) !== shape.prototype) return false;
    if (shape.kind === "fields") return this.#sameFields(shape, value as JsonRecord);
    if (shape.kind === "langchain") return this.#sameLangChain(shape, value as JsonRecord);
    return this.#sameList(value as unknown[]);
  }

  #sameList(values: readonly unknown[]): boolean {
    const { length } = values;
    if (this.#parts[this.#at] !== length) return false;
    this.#at += 1;
    for (let index = 0; index < length; index += 1) if (!this.#same(values[index])) return false;
    return true;
  }

  #sameFields({ keys }: Shape, value: JsonRecord): boolean {
    let index = 0;
    // for…in allocates nothing. It also gives inherited keys, so with a polluted Object.prototype nothing is the same.
    for (const key in value) {
      if (key !== keys[index] || !this.#same(value[key])) return false;
      index += 1;
    }
    return index === keys.length;
  }

  #sameLangChain({ keys, lateKeys }: Shape, value: JsonRecord): boolean {
    const given = value.lc_kwargs as JsonRecord | null | undefined;
    if (typeof given !== "object" || given === null) return false;
    if (Object.getPrototypeOf(given) !== Object.prototype) return false;
    let index = 0;
    for (const key in given) {
      if (key !== keys[index]) return false;
      const own = value[key];
      if (!this.#same(own !== undefined || key in value ? own : given[key])) return false;
      index += 1;
    }
    if (index !== keys.length) return false;
    // The arguments have the same names, so the late fields have too.
    for (let late = 0; late < lateKeys.length; late += 1)
      if (!this.#same(value[lateKeys[late] as string])) return false;
    return true;
  }
}

function shapeOf(kind: "fields" | "langchain", prototype: object, keys: readonly string[]): Shape {
  let shapes = shared.get(prototype);
  if (shapes === undefined) shared.set(prototype, (shapes = new Map()));
  const name = JSON.stringify([kind, keys]);
  let shape = shapes.get(name);
  if (shape === undefined) {
    const lateKeys = kind === "langchain" ? LATE_FIELDS.filter((field) => !keys.includes(field)) : [];
    shape = { kind, prototype, keys, lateKeys };
    if (shapes.size < mostShared) shapes.set(name, shape);
  }
  return shape;
}
