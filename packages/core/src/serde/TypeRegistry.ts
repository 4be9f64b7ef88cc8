import {
  LANGCHAIN_CLASSES,
  type LangChainClass,
  langChainClass,
  type LangChainConstructor,
} from "./langchainClasses.ts";
import { BYTE_CLASSES } from "./bytes.ts";

/** How instances of one of the user's classes are stored. Subclasses need a registration of their own. */
export interface RegisteredType<T extends object = object> {
  /** The name in stored data. Keep it for ever; renaming the class is then harmless. */
  readonly name: string;
  readonly class: abstract new (...args: never[]) => T;
  /** What to store: any value this serializer can keep, other registered types included. */
  toData(value: T): unknown;
  /** Builds the instance back. Runs on stored data: check it as far as the class needs. */
  fromData(data: unknown): T;
}

/** A LangChain class that stored data may name: one with `lc_serializable`, rebuilt by `new class(kwargs)`. */
export interface RegisteredLangChainType {
  /** Its `lc_id`, such as `["langchain_core", "prompts", "prompt", "PromptTemplate"]`. */
  readonly id: readonly string[];
  readonly class: LangChainConstructor;
}

/** The closed set of classes that one serializer writes and revives. */
export class TypeRegistry {
  readonly #typesByName = new Map<string, RegisteredType>();
  readonly #typesByPrototype = new Map<object, RegisteredType>();
  readonly #langChainByName = new Map<unknown, LangChainClass[]>();
  readonly #langChainByPrototype = new Map<object, LangChainClass>();

  constructor() {
    for (const known of LANGCHAIN_CLASSES) this.#addLangChain(known);
  }

  /** Throws `TypeError` where the name or the class is taken. */
  register(type: RegisteredType | RegisteredLangChainType): void {
    const { prototype } = type.class as { prototype: object };
    if (this.#isTaken(prototype)) throw new TypeError(`${type.class.name} already has a stored form.`);
    if ("id" in type) {
      if (this.langChainNamed(type.id) !== undefined) {
        throw new TypeError(`The LangChain id ${type.id.join("/")} is already registered.`);
      }
      this.#addLangChain(langChainClass(type.id, type.class));
      return;
    }
    if (this.#typesByName.has(type.name)) {
      throw new TypeError(`A type named ${JSON.stringify(type.name)} is already registered.`);
    }
    this.#typesByName.set(type.name, type);
    this.#typesByPrototype.set(prototype, type);
  }

  typeNamed(name: string): RegisteredType | undefined {
    return this.#typesByName.get(name);
  }

  typeOf(prototype: object): RegisteredType | undefined {
    return this.#typesByPrototype.get(prototype);
  }

  langChainOf(prototype: object): LangChainClass | undefined {
    return this.#langChainByPrototype.get(prototype);
  }

  /** Finds a class by what stored data calls it. */
  langChainNamed(id: readonly unknown[]): LangChainClass | undefined {
    return this.#langChainByName.get(id.at(-1))?.find((known) => isNamed(known.id, id));
  }

  #addLangChain(known: LangChainClass): void {
    const name = known.id.at(-1);
    this.#langChainByName.set(name, [...(this.#langChainByName.get(name) ?? []), known]);
    this.#langChainByPrototype.set(known.prototype, known);
  }

  #isTaken(prototype: object): boolean {
    return (
      BUILT_IN.has(prototype) ||
      this.#typesByPrototype.has(prototype) ||
      this.#langChainByPrototype.has(prototype)
    );
  }
}

/** Prototypes with a stored form that users can't replace. */
const BUILT_IN: ReadonlySet<object> = new Set([
  ...[Object, Array, Map, Set, Date, RegExp, URL].map((builtIn) => builtIn.prototype as object),
  ...BYTE_CLASSES.values(),
]);

/**
 * Whether `id` is `known`, or what Python writes for it: `["langchain_core", "messages", "ai", "AIMessage"]` is
 * `["langchain_core", "messages", "AIMessage"]`. The last parts are equal already.
 */
function isNamed(known: readonly string[], id: readonly unknown[]): boolean {
  if (id.length < known.length || (id.length > known.length && known.length !== 3)) return false;
  for (let index = 0; index < known.length - 1; index++) {
    if (known[index] !== id[index]) return false;
  }
  return true;
}
