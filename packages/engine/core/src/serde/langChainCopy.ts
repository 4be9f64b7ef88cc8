import { type LangChainClass, langChainClass } from "./langChainClasses.ts";
import { isLangChainObject } from "./langChainObject.ts";
import { classOf, prototypesOf } from "./prototypesOf.ts";

/** Finds classes of the closed list by the names that they give themselves. */
export interface KnownLangChain {
  /** The class with this id. */
  langChainNamed(id: readonly unknown[]): LangChainClass | undefined;
  /** Whether any class of the list has this as the last part of its id. */
  hasLangChainName(name: string): boolean;
}

/** A class of another copy of LangChain, and the class of ours that it corresponds to. */
export interface LangChainCopy {
  readonly own: LangChainClass;
  readonly copy: LangChainClass;
  /** Whether it can do all that ours can, so that values may be revived as its instances. */
  readonly standsIn: boolean;
}

/**
 * Describes the class of a value that claims, as LangChain's objects do, to be an instance of a known class, but comes from
 * another copy of the package: another version, or the CommonJS build beside the ESM one. The result is `"never"` if this class
 * isn't such a copy. It is undefined if this value doesn't claim so, but other instances may (the class path is a field of the
 * instance).
 *
 * Classes that are derived from a known class don't count, even with the same name, nor do classes with their own `lc_id` or
 * `toJSON`.
 */
export function langChainCopy(
  value: object,
  prototype: object,
  known: KnownLangChain,
): LangChainCopy | "never" | undefined {
  const chain = prototypesOf(prototype);
  const root = chain.at(-1);
  const constructor = classOf(prototype);
  if (root === undefined || constructor === undefined) return "never";
  if (Object.getOwnPropertyDescriptor(root, "lc_id")?.get === undefined) return "never";
  if (
    chain.some((level) => level !== root && (Object.hasOwn(level, "lc_id") || Object.hasOwn(level, "toJSON")))
  )
    return "never";
  const [name, ...ancestors] = chain.map(uniqueName);
  if (name === undefined || !known.hasLangChainName(name)) return "never";
  if (ancestors.some((ancestor) => ancestor === undefined || known.hasLangChainName(ancestor)))
    return "never";
  if (!isLangChainObject(value) || !value.lc_serializable) return undefined;
  const own = known.langChainNamed(value.lc_id);
  if (own === undefined) return undefined;
  return { own, copy: langChainClass(own.id, constructor), standsIn: standsIn(prototype, own.prototype) };
}

/** The same as LangChain's `get_lc_unique_name`: the result of `lc_name`, unless that is inherited. */
function uniqueName(prototype: object): string | undefined {
  const constructor = classOf(prototype) as { name: string; lc_name?: () => unknown } | undefined;
  if (constructor === undefined) return undefined;
  const parent = Object.getPrototypeOf(constructor) as { lc_name?: () => unknown } | null;
  try {
    const name = constructor.lc_name?.();
    const inherited = typeof parent?.lc_name === "function" && parent.lc_name() === name;
    return typeof name === "string" && !inherited ? name : constructor.name;
  } catch {
    return undefined;
  }
}

/** Whether a class has properties of all the names that ours has, except those private to LangChain. */
export function standsIn(prototype: object, own: object): boolean {
  const ours = prototypesOf(own);
  // A class that is derived from our own base classes isn't a copy of ours.
  if (prototypesOf(prototype).some((level) => ours.includes(level))) return false;
  return ours
    .flatMap((level) => Object.getOwnPropertyNames(level))
    .every((name) => name.startsWith("_") || name in prototype);
}
