import { noteRevived, wasRevived } from "./copyChoice.ts";
import { type LangGraphClasses, loadedLangGraphClasses } from "./langGraphClasses.ts";
import { classOf, prototypesOf } from "./prototypesOf.ts";
import type { JsonRecord } from "./records.ts";

/** The name of one of LangGraph's classes whose instances are stored. */
export type LangGraphName = keyof LangGraphClasses;

/** The constructor of that name. */
export type LangGraphConstructor<Name extends LangGraphName> = Exclude<LangGraphClasses[Name], undefined>;

/** So many classes LangGraph's own have above them, themselves included. What has more was derived from them. */
const DEPTHS: Readonly<Record<LangGraphName, number>> = { Send: 1, Command: 2, Overwrite: 1 };

/**
 * Which copy of LangGraph's classes one serializer revives: those that an option names; else the first that it was given an
 * instance of, for these come from the graph that uses it; else the loaded ones. LangGraph itself asks `instanceof Send` at
 * some places. (docs/decisions/0017)
 */
export class LangGraphCopies {
  readonly #given: LangGraphClasses | undefined;
  readonly #stored = new Map<LangGraphName, unknown>();

  constructor(given: LangGraphClasses | undefined) {
    this.#given = given;
  }

  /** Notes that `value`, which says that it is a `name`, is being stored. */
  stored(name: LangGraphName, value: object): void {
    if (this.#given !== undefined || this.#stored.has(name) || wasRevived(value)) return;
    const prototype: object = Object.getPrototypeOf(value);
    const copy = prototypesOf(prototype).length <= DEPTHS[name] ? classOf(prototype) : undefined;
    if (copy !== undefined) this.#stored.set(name, copy);
  }

  /** Whether loading LangGraph could tell the class. */
  mayBeLoaded(name: LangGraphName): boolean {
    return this.#given === undefined && !this.#stored.has(name) && loadedLangGraphClasses() === undefined;
  }

  /**
   * An instance made by `make` of the copy in use, which must have the `parts`; undefined where there is none. A class that was
   * only shown by a value, and makes something else, is somebody's that has the name of LangGraph's: it isn't used.
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
