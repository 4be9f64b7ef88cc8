import { AsyncLocalStorage } from "node:async_hooks";

/** One key for the process, also if core is loaded twice (as a module and for `require`): the caller may not have the saver's copy. */
const key = Symbol.for("stratigraph.lookOnly");
const global = globalThis as { [key]?: AsyncLocalStorage<true> | undefined };

/**
 * Calls `work` so that what it reads stays where it is: a stack neither restores it from the archive nor copies it into its hot tiers. For
 * callers that look at threads rather than run them.
 */
export function lookOnly<T>(work: () => T): T {
  return (global[key] ??= new AsyncLocalStorage()).run(true, work);
}

/** Whether the caller was called by {@link lookOnly}. */
export function looksOnly(): boolean {
  return global[key]?.getStore() === true;
}
