import { noteRevived, wasRevived } from "./copyChoice.ts";
import { type LangGraphClasses, loadedLangGraphClasses } from "./langGraphClasses.ts";
import { classOf, prototypesOf } from "./prototypesOf.ts";
import type { JsonRecord } from "./records.ts";

/** The name of one of LangGraph's classes whose instances are stored. */
export type LangGraphName = keyof LangGraphClasses;

/** The constructor of that name. */
export type LangGraphConstructor<Name extends LangGraphName> = Exclude<LangGraphClasses[Name], undefined>;

/** The number of classes in the inheritance of LangGraph's own, themselves included. A class with more is derived from them. */
const DEPTHS: Readonly<Record<LangGraphName, number>> = { Send: 1, Command: 2, Overwrite: 1 };

/**
 * Decides as which copy of LangGraph's classes a serializer revives values. It takes the classes that an option names; otherwise
 * the first ones that it was given an instance of, because these come from the graph that uses it; otherwise the loaded ones. It
 * matters because LangGraph uses `instanceof Send` in some places. (docs/decisions/0017)
 */
export class LangGraphCopies {
  readonly #given: LangGraphClasses | undefined;
  readonly #stored = new Map<LangGraphName, unknown>();

  constructor(given: LangGraphClasses | undefined) {
    this.#given = given;
  }

  /** Notes that `value`, which claims to be a `name`, is being stored. */
  stored(name: LangGraphName, value: object): void {
    if (this.#given !== undefined || this.#stored.has(name) || wasRevived(value)) return;
    const prototype: object = Object.getPrototypeOf(value);
    const copy = prototypesOf(prototype).length <= DEPTHS[name] ? classOf(prototype) : undefined;
    if (copy !== undefined) this.#stored.set(name, copy);
  }

  /** Whether loading LangGraph could provide the class. */
  mayBeLoaded(name: LangGraphName): boolean {
    return this.#given === undefined && !this.#stored.has(name) && loadedLangGraphClasses() === undefined;
  }

  /**
   * An instance that `make` made with the copy in use, which must have the `parts`; undefined if there is no copy. A class that
   * was taken from a stored value and makes something else only shares the name of LangGraph's, and isn't used again.
   */
  make<Name extends LangGraphName>(
    name: Name,
    parts: JsonRecord,
    make: (copy: LangGraphConstructor<Name>) => object,
  ): object | undefined {
    const stored = this.#stored.get(name) as LangGraphConstructor<Name> | undefined;
    if (stored !== undefined) {
      const made = madeSafely(() => make(stored)) as JsonRecord | undefined;
      const same = made?.lg_name === name && Object.keys(parts).every((part) => made[part] === parts[part]);
      if (same) return made;
      this.#stored.delete(name);
    }
    const copy = (this.#given ?? loadedLangGraphClasses())?.[name] as LangGraphConstructor<Name> | undefined;
    if (copy === undefined) return undefined;
    const made = make(copy);
    if (this.#given === undefined) noteRevived(made);
    return made;
  }
}

function madeSafely(make: () => object): object | undefined {
  try {
    return make();
  } catch {
    return undefined;
  }
}
