import type { BaseCheckpointSaver } from "@langchain/langgraph-checkpoint";

/** How `prune` treats a thread. */
export interface PruneOptions {
  strategy: "keep_latest" | "delete";
  /** With `keep_latest`: how many of the newest checkpoints of each namespace to keep. Default: 1. */
  keepLast?: number;
}

/** Methods of LangGraph's Python savers that a JavaScript saver may have beyond `BaseCheckpointSaver`. */
export interface ExtendedMethods {
  copyThread(source: string, target: string): Promise<unknown>;
  deleteForRuns(runIds: string[]): Promise<unknown>;
  prune(threadIds: string[], options: PruneOptions): Promise<unknown>;
}

/** The name of an extended method. */
export type ExtendedMethod = keyof ExtendedMethods;

/** A saver with some of the extended methods. */
export type ConformingSaver = BaseCheckpointSaver & Partial<ExtendedMethods>;

/** What a clause is given. */
export interface ClauseContext {
  saver: ConformingSaver;
  /** Another instance over the same storage, or the same saver where there is none. */
  reopen(): Promise<ConformingSaver>;
}

/** One requirement on savers, checked by running it: it rejects when the saver does not meet it. */
export interface Clause {
  /** The capability, named as in Python's suite: `put`, `put_writes`, … */
  group: string;
  /** Unique over all groups. Those of Python's suite keep their name, without `test_`. */
  name: string;
  /** The method the clause is about, where savers may lack it. */
  needs?: ExtendedMethod;
  run(context: ClauseContext): Promise<void>;
}

/** Names a group's clauses after their keys. */
export const clauseGroup = (
  group: string,
  runs: Readonly<Record<string, Clause["run"]>>,
  needs?: ExtendedMethod,
): Clause[] =>
  Object.entries(runs).map(([name, run]) =>
    needs === undefined ? { group, name, run } : { group, name, needs, run },
  );

/** The extended method of a saver, bound to it; throws when the saver has none. */
export const extended = <M extends ExtendedMethod>(saver: ConformingSaver, method: M): ExtendedMethods[M] => {
  const found = saver[method];
  if (typeof found !== "function") throw new Error(`The saver has no method ${method}()`);
  return found.bind(saver) as ExtendedMethods[M];
};
