/**
 * State that all copies of this package in a thread of the process share: its two builds, and those that bundlers made. Copies that
 * didn't know of each other would take each other for dead.
 */
export function shared<T>(name: string, make: () => T): T {
  const all = globalThis as { [key: symbol]: T | undefined };
  const key = Symbol.for(`stratigraph.journal.${name}`);
  return (all[key] ??= make());
}
