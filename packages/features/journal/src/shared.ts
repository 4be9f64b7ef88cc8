/**
 * State that all copies of this package in a thread of the process share: its two builds, and copies made by bundlers. Copies with separate
 * state would consider each other dead.
 */
export function shared<T>(name: string, make: () => T): T {
  const all = globalThis as { [key: symbol]: T | undefined };
  const key = Symbol.for(`stratigraph.journal.${name}`);
  return (all[key] ??= make());
}
