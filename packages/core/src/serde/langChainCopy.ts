import { type LangChainClass, langChainClass } from "./langChainClasses.ts";
import { isLangChainObject } from "./langChainObject.ts";
import { classOf, prototypesOf } from "./prototypesOf.ts";

/** The closed list of classes, by what they call themselves. */
export interface KnownLangChain {
  /** By the whole id. */
  langChainNamed(id: readonly unknown[]): LangChainClass | undefined;
  /** Whether any class of the list has this as the last part of its id. */
  hasLangChainName(name: string): boolean;
}

/** A class of another copy of LangChain, and which one of ours it is. */
export interface LangChainCopy {
  readonly own: LangChainClass;
  readonly copy: LangChainClass;
  /** Whether it can do what ours can, so that values may be revived as it. */
  readonly standsIn: boolean;
}

/**
 * Describes the class of a value that says, as LangChain's objects do, that it is one of the known classes, but whose class is
 * of another copy of the package: another version, or the CommonJS build besides the ESM one. `"never"`: no instance of this
 * class is one; undefined: this value isn't, another one may be (its class path is a field of the instance).
 *
 * Not meant are classes derived from a known class, also where they have the same name, and classes with an `lc_id` or a `toJSON`
 * of their own.
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

/** LangChain's `get_lc_unique_name`: what `lc_name` says, unless that is only inherited. */
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

/** Whether a class has all that ours has, by name, except for what is private to LangChain. */
export function standsIn(prototype: object, own: object): boolean {
  const ours = prototypesOf(own);
  // A class that somebody derived from our own base classes is no copy of ours.
  if (prototypesOf(prototype).some((level) => ours.includes(level))) return false;
  return ours
    .flatMap((level) => Object.getOwnPropertyNames(level))
    .every((name) => name.startsWith("_") || name in prototype);
}
