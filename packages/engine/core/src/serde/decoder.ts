import { constructCopy, constructLangChain } from "./constructLangChain.ts";
import { decodeConstructor } from "./decodeConstructor.ts";
import { decodeExtension } from "./decodeExtension.ts";
import { DeltaSnapshot } from "@langchain/langgraph-checkpoint";
import { formatPath, type PathSegment } from "./formatPath.ts";
import type { KeyNames } from "./keyCase.ts";
import type { LangChainClass } from "./langChainClasses.ts";
import type { LangGraphConstructor, LangGraphName } from "./langGraphCopies.ts";
import { messageOf } from "./messageOf.ts";
import { EXTENSION_PREFIX, isLcEscaped, type JsonRecord, LC_ESCAPED, setOwn } from "./records.ts";
import { SerializationError, type SerializationFailure } from "./serializationError.ts";
import type { TypeRegistry } from "./typeRegistry.ts";
import type { UnknownTypes, ValueDecoder } from "./valueDecoder.ts";

/** JSON that is nested deeper is refused. One level of a value is up to five levels of JSON. */
const MAX_JSON_DEPTH = 6000;

/**
 * Turns freshly parsed JSON into values, in place: only records are replaced. The data never chooses code: classes come from the
 * registry, and built-ins from closed tables.
 */
export class Decoder implements ValueDecoder {
  readonly registry: TypeRegistry;
  readonly unknownTypes: UnknownTypes;
  /** True once the data named a class of LangGraph that isn't loaded. */
  missedLangGraph = false;
  readonly #path: PathSegment[] = [];

  constructor(registry: TypeRegistry, unknownTypes: UnknownTypes) {
    this.registry = registry;
    this.unknownTypes = unknownTypes;
  }

  /** `inKwargs`: inside the arguments of a LangChain object, where LangChain's escaping rules hold. */
  decode(value: unknown, depth: number, inKwargs: boolean): unknown {
    return typeof value === "object" && value !== null ? this.#object(value, depth, inKwargs) : value;
  }

  child(value: unknown, segment: PathSegment, depth: number): unknown {
    this.#path[depth] = segment;
    return this.decode(value, depth + 1, false);
  }

  fields(record: JsonRecord, depth: number, inKwargs: boolean): JsonRecord {
    const keys = Object.keys(record);
    for (let index = 0; index < keys.length; index++) {
      const key = keys[index] as string;
      const before = record[key];
      if (typeof before !== "object" || before === null) continue;
      this.#path[depth] = key;
      const after = this.#object(before, depth + 1, inKwargs);
      // JSON.parse made every key an own property, so that even "__proto__" is only assigned.
      if (after !== before) record[key] = after;
    }
    return record;
  }

  langGraph<Name extends LangGraphName>(
    name: Name,
    parts: JsonRecord,
    make: (copy: LangGraphConstructor<Name>) => object,
  ): object | undefined {
    const { langGraph } = this.registry;
    const made = langGraph.make(name, parts, make);
    if (made === undefined && langGraph.mayBeLoaded(name)) this.missedLangGraph = true;
    return made;
  }

  fail(
    depth: number,
    found: string,
    hint: string,
    { cause, ...kind }: Pick<SerializationFailure, "reason" | "type"> & { readonly cause?: unknown } = {},
  ): never {
    const path = formatPath(this.#path.slice(0, depth));
    throw new SerializationError(
      { action: "read back", path, found, hint, ...kind },
      cause === undefined ? undefined : { cause },
    );
  }

  #object(value: object, depth: number, inKwargs: boolean): unknown {
    if (depth > MAX_JSON_DEPTH) {
      this.fail(
        depth,
        `nesting deeper than ${MAX_JSON_DEPTH} levels of JSON`,
        "This serializer didn't write it.",
      );
    }
    if (Array.isArray(value)) return this.#items(value, depth, inKwargs);
    const record = value as JsonRecord;
    const { lc } = record;
    if (lc === 1) {
      if (record.type === "constructor" && Array.isArray(record.id) && record.kwargs !== undefined) {
        return this.#langChain(record, record.id, depth);
      }
    } else if (lc === 2 && typeof record.type === "string") {
      return this.#record(record, record.type, depth, inKwargs);
    } else if (inKwargs && record[LC_ESCAPED] !== undefined && isLcEscaped(record)) {
      const inner = record[LC_ESCAPED];
      if (typeof inner !== "object" || inner === null) return inner;
      return Array.isArray(inner)
        ? this.#items(inner, depth, false)
        : this.fields(inner as JsonRecord, depth, false);
    }
    return this.fields(record, depth, inKwargs);
  }

  #items(items: unknown[], depth: number, inKwargs: boolean): unknown[] {
    for (let index = 0; index < items.length; index++) {
      const before = items[index];
      if (typeof before !== "object" || before === null) continue;
      this.#path[depth] = index;
      const after = this.#object(before, depth + 1, inKwargs);
      if (after !== before) items[index] = after;
    }
    return items;
  }

  #record(record: JsonRecord, type: string, depth: number, inKwargs: boolean): unknown {
    if (type === "undefined") return undefined;
    if (type === "delta_snapshot" && Object.hasOwn(record, "value")) {
      return new DeltaSnapshot(this.child(record.value, "value", depth));
    }
    if (type === "constructor") return decodeConstructor(this.fields(record, depth, false));
    if (type.startsWith(EXTENSION_PREFIX)) {
      return decodeExtension(type.slice(EXTENSION_PREFIX.length), record, this, depth);
    }
    return this.fields(record, depth, inKwargs);
  }

  #langChain(record: JsonRecord, id: readonly unknown[], depth: number): unknown {
    const { kwargs } = record;
    const known = this.registry.langChainNamed(id);
    if (known === undefined) {
      const name = id.join("/").slice(0, 200);
      if (this.unknownTypes === "error") {
        const hint = 'Register it with serde.register({ id, class }), or set unknownTypes to "inert".';
        this.fail(depth, `the LangChain object ${name}, which is not a known type`, hint, {
          reason: "unregistered-type",
          type: name,
        });
      }
      return this.fields(record, depth, false);
    }
    if (typeof kwargs !== "object" || kwargs === null || Array.isArray(kwargs)) {
      this.fail(depth, `a ${known.id.at(-1)} whose kwargs are no object`, "The stored bytes are damaged.");
    }
    const decoded = this.fields(kwargs as JsonRecord, depth, true);
    try {
      return this.#construct(known, decoded);
    } catch (cause) {
      return this.fail(depth, `arguments that ${known.id.at(-1)} refuses`, `It says: ${messageOf(cause)}`, {
        cause,
      });
    }
  }

  #construct(known: LangChainClass, kwargs: JsonRecord): object {
    const choice = this.registry.choiceOf(known);
    // A registered class may do with its arguments what it likes, so the result isn't compared with them.
    if (choice === undefined) return known.construct(renamed(kwargs, known.keys));
    const copy = choice.used;
    if (copy !== known) {
      const instance = constructCopy(copy, renamed(kwargs, copy.keys));
      if (instance !== undefined) return instance;
      choice.giveUp();
    }
    const instance = constructLangChain(known, renamed(kwargs, known.keys));
    choice.madeOwn(instance);
    return instance;
  }
}

/** The arguments under the names that the constructor takes. Most have these names already. */
function renamed(kwargs: JsonRecord, names: KeyNames): JsonRecord {
  const keys = Object.keys(kwargs);
  if (keys.every((key) => names.fromJson(key) === key)) return kwargs;
  const fields: JsonRecord = {};
  for (const key of keys) setOwn(fields, names.fromJson(key), kwargs[key]);
  return fields;
}
