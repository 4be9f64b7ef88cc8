import { builtInEncoder, foreignBuiltInEncoder } from "./encodeBuiltIn.ts";
import { encodeError } from "./encodeError.ts";
import { encodeLangChain } from "./encodeLangChain.ts";
import { encodeStructural } from "./encodeStructural.ts";
import { formatPath, type PathSegment } from "./formatPath.ts";
import { isLangChainObject } from "./langChainObject.ts";
import {
  extension,
  type JsonRecord,
  LC_ESCAPED,
  isLcEscaped,
  looksLikeRecord,
  setOwn,
  UNDEFINED_RECORD,
} from "./records.ts";
import { SerializationError } from "./serializationError.ts";
import type { TypeRegistry } from "./typeRegistry.ts";
import type { ValueEncoder } from "./valueEncoder.ts";

/** Values nested deeper than this are refused. */
const MAX_DEPTH = 1000;

/** What happens to instances of a class without a stored form: they are refused, or stored as plain data. */
export type UnknownClasses = "error" | "plain";

const REGISTER_HINT =
  "Store plain data, or register the class with serde.register({ name, class, toData, fromData }).";

/**
 * Turns one value into what `JSON.stringify` can write: the same object if it is plain JSON already, otherwise a copy with
 * records. Use a new instance for each value; it keeps track of the path, for errors.
 */
export class Encoder implements ValueEncoder {
  readonly registry: TypeRegistry;
  readonly unknownClasses: UnknownClasses;
  readonly path: PathSegment[] = [];
  readonly #ancestors: (object | undefined)[] = [];

  constructor(registry: TypeRegistry, unknownClasses: UnknownClasses) {
    this.registry = registry;
    this.unknownClasses = unknownClasses;
  }

  child(value: unknown, segment: PathSegment, depth: number, inKwargs = false): unknown {
    this.path[depth] = segment;
    return this.encode(value, depth + 1, inKwargs);
  }

  /** Encodes one item of an array that is the whole value. */
  item(list: readonly unknown[], index: number): unknown {
    this.#ancestors[0] = list;
    return this.child(list[index], index, 0);
  }

  step(segment: PathSegment, depth: number): void {
    this.path[depth] = segment;
    this.#ancestors[depth + 1] = undefined;
  }

  encode(value: unknown, depth: number, inKwargs: boolean): unknown {
    switch (typeof value) {
      case "string":
      case "boolean":
        return value;
      case "number":
        return Number.isFinite(value) && !Object.is(value, -0) ? value : encodeNumber(value);
      case "undefined":
        return UNDEFINED_RECORD;
      case "bigint":
        return extension("bigint", { value: value.toString() });
      case "object":
        return value === null ? null : this.#object(value, depth, inKwargs);
      default:
        return this.fail(
          depth,
          `a ${typeof value}`,
          "Leave it out of the state, or keep it outside the graph.",
        );
    }
  }

  fail(depth: number, found: string, hint: string, cause?: unknown): never {
    const path = formatPath(this.path.slice(0, depth));
    throw new SerializationError(
      { action: "serialise", path, found, hint },
      cause === undefined ? undefined : { cause },
    );
  }

  #object(value: object, depth: number, inKwargs: boolean): unknown {
    this.#ancestors[depth] = value;
    if (depth > MAX_DEPTH) this.#failTooDeep(depth);
    const prototype: object | null = Object.getPrototypeOf(value);
    if (prototype === Object.prototype) return this.plain(value as JsonRecord, depth, inKwargs);
    if (Array.isArray(value)) return this.#array(value, depth, inKwargs);
    if (prototype === null) {
      return extension("null-prototype", { value: this.#fields(value as JsonRecord, depth, false) });
    }
    return this.#instance(value, prototype, depth, inKwargs);
  }

  /** Encodes a plain object; one that looks like a record is wrapped in one. */
  plain(value: JsonRecord, depth: number, inKwargs: boolean): JsonRecord {
    if (inKwargs) {
      if (value.lc !== undefined || isLcEscaped(value)) {
        return { [LC_ESCAPED]: this.#fields(value, depth, false) };
      }
    } else if (value.lc !== undefined && looksLikeRecord(value)) {
      return extension("plain", { value: this.#fields(value, depth, false) });
    }
    return this.#fields(value, depth, inKwargs);
  }

  #fields(value: JsonRecord, depth: number, inKwargs: boolean): JsonRecord {
    let copy: JsonRecord | undefined;
    const keys = Object.keys(value);
    for (let index = 0; index < keys.length; index++) {
      const key = keys[index] as string;
      const before = value[key];
      if (typeof before === "string") {
        if (copy !== undefined) setOwn(copy, key, before);
        continue;
      }
      this.path[depth] = key;
      const after = this.encode(before, depth + 1, inKwargs);
      if (copy === undefined && after !== before) {
        copy = {};
        for (let done = 0; done < index; done++)
          setOwn(copy, keys[done] as string, value[keys[done] as string]);
      }
      if (copy !== undefined) setOwn(copy, key, after);
    }
    return copy ?? value;
  }

  #array(value: readonly unknown[], depth: number, inKwargs: boolean): readonly unknown[] {
    const prototype: unknown = Object.getPrototypeOf(value);
    if (prototype !== Array.prototype && prototype?.constructor?.name !== "Array") {
      this.fail(depth, `an instance of ${classNameOf(value)}`, REGISTER_HINT);
    }
    let copy: unknown[] | undefined;
    for (let index = 0; index < value.length; index++) {
      const before = value[index];
      if (typeof before === "string") {
        if (copy !== undefined) copy.push(before);
        continue;
      }
      this.path[depth] = index;
      const after = this.encode(before, depth + 1, inKwargs);
      if (copy === undefined && after !== before) copy = value.slice(0, index);
      if (copy !== undefined) copy.push(after);
    }
    return copy ?? value;
  }

  #instance(value: object, prototype: object, depth: number, inKwargs: boolean): unknown {
    const langChain = this.registry.langChainOf(prototype);
    if (langChain !== undefined) {
      this.registry.choiceOf(langChain)?.storedOwn(value);
      return encodeLangChain(value, langChain, this, depth);
    }
    const builtIn = builtInEncoder(prototype);
    if (builtIn !== undefined) return builtIn(value as never, this, depth);
    const registered = this.registry.typeOf(prototype);
    if (registered !== undefined) {
      const data = this.#toData(() => registered.toData(value), depth);
      return extension("type", { name: registered.name, value: this.child(data, "data", depth) });
    }
    const langChainCopy = this.registry.langChainCopyOf(value, prototype);
    if (langChainCopy !== undefined) {
      this.registry.storedCopy(langChainCopy);
      return encodeLangChain(value, langChainCopy.copy, this, depth);
    }
    const className = classNameOf(value);
    if (isForeignPlain(prototype)) return this.plain(value as JsonRecord, depth, inKwargs);
    const foreign = foreignBuiltInEncoder(value, className);
    if (foreign !== undefined) return foreign(value as never, this, depth);
    if (isError(value)) return encodeError(value, this, depth);
    return encodeStructural(value, this, depth) ?? this.#unknown(value, className, depth, inKwargs);
  }

  #unknown(value: object, className: string, depth: number, inKwargs: boolean): unknown {
    if (isLangChainObject(value)) {
      const known = this.registry.langChainNamed(value.lc_id);
      if (known !== undefined && value.lc_serializable) return encodeLangChain(value, known, this, depth);
    }
    if (this.unknownClasses === "error" || UNKEEPABLE.has(className)) {
      this.fail(depth, `an instance of ${className}`, REGISTER_HINT);
    }
    const { toJSON } = value as { toJSON?: unknown };
    if (typeof toJSON !== "function") return this.plain(value as JsonRecord, depth, inKwargs);
    const data: unknown = this.#toData(() => toJSON.call(value), depth);
    return data === value
      ? this.plain(value as JsonRecord, depth, inKwargs)
      : this.child(data, "toJSON", depth);
  }

  #toData(convert: () => unknown, depth: number): unknown {
    try {
      return convert();
    } catch (cause) {
      return this.fail(depth, "an instance whose conversion to data threw", "See the cause.", cause);
    }
  }

  #failTooDeep(depth: number): never {
    const seen = new Map<object, number>();
    for (let level = 0; level <= depth; level++) {
      const ancestor = this.#ancestors[level];
      if (ancestor === undefined) continue;
      const first = seen.get(ancestor);
      if (first !== undefined) {
        const target = formatPath(this.path.slice(0, first));
        this.fail(level, `a cycle back to ${target === "" ? "the value itself" : target}`, "Store a tree.");
      }
      seen.set(ancestor, level);
    }
    this.fail(depth, `nesting deeper than ${MAX_DEPTH} levels`, "Flatten the value.");
  }
}

/** Classes whose instances have no content that plain data could hold. */
const UNKEEPABLE: ReadonlySet<string> = new Set([
  "WeakMap",
  "WeakSet",
  "WeakRef",
  "Promise",
  "SharedArrayBuffer",
]);

function encodeNumber(value: number): JsonRecord {
  return extension("number", { value: Object.is(value, -0) ? "-0" : String(value) });
}

function isError(value: object): value is Error {
  return value instanceof Error || Object.prototype.toString.call(value) === "[object Error]";
}

/** Whether this is the Object.prototype of another realm (`vm`, jest). */
function isForeignPlain(prototype: object): boolean {
  return Object.getPrototypeOf(prototype) === null && prototype.constructor?.name === "Object";
}

function classNameOf(value: object): string {
  const name: unknown = (value as { constructor?: { name?: unknown } }).constructor?.name;
  if (typeof name !== "string" || name === "") return "an anonymous class";
  return name === "Object" ? "an object made with Object.create" : name;
}
