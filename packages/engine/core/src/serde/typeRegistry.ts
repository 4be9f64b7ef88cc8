import { Document } from "@langchain/core/documents";
import { shown } from "../contract/checkOptions.ts";
import { InvalidOptionError } from "../contract/errors.ts";
import { BYTE_CLASSES } from "./bytes.ts";
import { CopyChoice } from "./copyChoice.ts";
import { type KnownLangChain, type LangChainCopy, langChainCopy } from "./langChainCopy.ts";
import {
  LANGCHAIN_CLASSES,
  type LangChainClass,
  langChainClass,
  type LangChainClasses,
  type LangChainConstructor,
  type LangChainName,
} from "./langChainClasses.ts";
import type { LangGraphClasses } from "./langGraphClasses.ts";
import { LangGraphCopies } from "./langGraphCopies.ts";

/** How instances of one of the user's classes are stored. Subclasses need their own registration. */
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
export class TypeRegistry implements KnownLangChain {
  readonly #typesByName = new Map<string, RegisteredType>();
  readonly #typesByPrototype = new Map<object, RegisteredType>();
  readonly #langChainByName = new Map<unknown, LangChainClass[]>();
  readonly #langChainByPrototype = new Map<object, LangChainClass>();
  /** For prototypes of other copies of LangChain, what was found out about them. */
  #copies = new WeakMap<object, LangChainCopy | "never">();
  /** For each class of the closed list, which copy of it is revived. Registered classes have no other copy. */
  readonly #choices = new Map(LANGCHAIN_CLASSES.map((known) => [known, new CopyChoice(known)]));

  /** Which copy of `Document` is revived. */
  readonly documents = new CopyChoice(Document as DocumentConstructor);
  /** Which copy of LangGraph's classes is revived. */
  readonly langGraph: LangGraphCopies;

  /**
   * @param langChain classes of LangChain to revive, whatever copies the stored values come from
   * @param langGraph the same for LangGraph
   */
  constructor(langChain: LangChainClasses = {}, langGraph?: LangGraphClasses) {
    this.langGraph = new LangGraphCopies(langGraph);
    for (const known of LANGCHAIN_CLASSES) {
      this.#addLangChain(known);
      const chosen = chosenClass(langChain, known.id.at(-1) as LangChainName);
      if (chosen === undefined) continue;
      const copy = chosen.prototype === known.prototype ? known : langChainClass(known.id, chosen);
      this.#choices.get(known)?.choose(copy);
    }
    const chosen = chosenClass(langChain, "Document");
    if (chosen !== undefined) this.documents.choose(chosen as unknown as DocumentConstructor);
  }

  /** Throws `TypeError` if the name or the class is taken. */
  register(type: RegisteredType | RegisteredLangChainType): void {
    const { prototype } = type.class as { prototype: object };
    this.#copies = new WeakMap();
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

  /** The class of a value that comes from another copy of LangChain. Takes one lookup for classes that were seen before. */
  langChainCopyOf(value: object, prototype: object): LangChainCopy | undefined {
    let found = this.#copies.get(prototype);
    if (found === undefined) {
      found = this.#typesByPrototype.has(prototype) ? "never" : langChainCopy(value, prototype, this);
      if (found !== undefined) this.#copies.set(prototype, found);
    }
    return found === "never" ? undefined : found;
  }

  /** Which copy of a LangChain class is revived; undefined for registered classes. */
  choiceOf(own: LangChainClass): CopyChoice<LangChainClass> | undefined {
    return this.#choices.get(own);
  }

  /** Notes that an instance of another copy is being stored. */
  storedCopy({ own, copy, standsIn }: LangChainCopy): void {
    if (standsIn) this.#choices.get(own)?.storedOther(copy);
  }

  hasLangChainName(name: string): boolean {
    return this.#langChainByName.has(name);
  }

  /** Finds a class by its name in stored data. */
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

/** `Document` of any copy of LangChain. `id` is unknown, because an application may set any kind of id. */
export type DocumentConstructor = new (fields: {
  pageContent: string;
  metadata: object;
  id?: unknown;
}) => object;

/** The class that was given for this name. @throws InvalidOptionError if it isn't a class */
function chosenClass(classes: LangChainClasses, name: LangChainName): LangChainConstructor | undefined {
  const found: unknown = classes[name];
  if (found === undefined) return undefined;
  if (typeof found === "function" && typeof found.prototype === "object")
    return found as LangChainConstructor;
  const advice =
    "Pass the exports of @langchain/core/messages, /prompt_values and /documents, or leave it out.";
  throw new InvalidOptionError(`langChain.${name}`, shown(found), advice);
}

/** Prototypes whose stored form users can't replace. */
const BUILT_IN: ReadonlySet<object> = new Set([
  ...[Object, Array, Map, Set, Date, RegExp, URL].map((builtIn) => builtIn.prototype as object),
  ...BYTE_CLASSES.values(),
]);

/**
 * Whether `id` is `known`, or what Python writes for it: `["langchain_core", "messages", "ai", "AIMessage"]` stands for
 * `["langchain_core", "messages", "AIMessage"]`. The caller has compared the last parts.
 */
function isNamed(known: readonly string[], id: readonly unknown[]): boolean {
  if (id.length < known.length || (id.length > known.length && known.length !== 3)) return false;
  for (let index = 0; index < known.length - 1; index++) {
    if (known[index] !== id[index]) return false;
  }
  return true;
}
