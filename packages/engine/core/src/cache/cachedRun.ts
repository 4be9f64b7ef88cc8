import { AsyncLocalStorage } from "node:async_hooks";

/** A run of a thread that asks caches of this process. LangGraph tells a cache nothing about it, so the checkpointer does. */
export interface CachedRun {
  readonly threadId: string;
  /** By what it computes: gives that back. */
  readonly releases: Map<object, () => void>;
}

/** One key for the process, also if core is loaded twice (as a module and for `require`). There is nothing where nobody uses a cache. */
const key = Symbol.for("stratigraph.cachedRun");
const global = globalThis as { [key]?: AsyncLocalStorage<CachedRun> | undefined };

/** Has checkpointers tell of their runs from now on. */
export function watchRuns(): void {
  global[key] ??= new AsyncLocalStorage();
}

/** The run that the caller belongs to, if its checkpointer is one of ours. */
export function currentRun(): CachedRun | undefined {
  return global[key]?.getStore();
}

/**
 * A checkpointer is asked for a head, as at the beginning of a run. To be called before anything is awaited: then what LangGraph does
 * afterwards belongs to the run. A subgraph belongs to the run that it is in.
 */
export function beginsRun(threadId: string | undefined, namespace: string | undefined): void {
  const runs = global[key];
  if (runs === undefined || threadId === undefined) return;
  if (namespace !== undefined && namespace !== "" && runs.getStore()?.threadId === threadId) return;
  runs.enterWith({ threadId, releases: new Map() });
}

/** A task of the run failed, or waits for an answer: nobody should wait for what the run computes. */
export function stopsComputing(): void {
  for (const release of currentRun()?.releases.values() ?? []) release();
}
