import { AsyncLocalStorage } from "node:async_hooks";

/** One for the process, also where core is loaded twice (as a module and for `require`): the front may not have the saver's. */
const key = Symbol.for("stratigraph.lookOnly");
const global = globalThis as { [key]?: AsyncLocalStorage<true> | undefined };

/**
 * Calls `work` so that what it reads stays where it is. A stack doesn't restore what it reads from the archive then, and puts no copies into
 * its hot tiers. For those who look at threads, rather than run them.
 */
export function lookOnly<T>(work: () => T): T {
  return (global[key] ??= new AsyncLocalStorage()).run(true, work);
}

/** Whether the caller was called by {@link lookOnly}. */
export function looksOnly(): boolean {
  return global[key]?.getStore() === true;
}
