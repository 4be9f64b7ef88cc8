import type { BaseCheckpointSaver } from "@langchain/langgraph-checkpoint";

/** Options of `prune`. */
export interface ExtendedPruneOptions {
  strategy: "keep_latest" | "delete";
  /** With `keep_latest`: how many of the newest checkpoints of each namespace are kept. Default: 1. */
  keepLast?: number;
}

/** Methods of LangGraph's Python savers that a JavaScript saver may have beyond `BaseCheckpointSaver`. */
export interface ExtendedMethods {
  copyThread(source: string, target: string): Promise<unknown>;
  deleteForRuns(runIds: string[]): Promise<unknown>;
  prune(threadIds: string[], options: ExtendedPruneOptions): Promise<unknown>;
}

/** The name of an extended method. */
export type ExtendedMethod = keyof ExtendedMethods;

/** A saver with some of the extended methods. */
export type ConformingSaver = BaseCheckpointSaver & Partial<ExtendedMethods>;

/** What a clause is given. */
export interface ClauseContext {
  saver: ConformingSaver;
  /** Another instance over the same storage. The same saver if the setup can't open another one. */
  reopen(): Promise<ConformingSaver>;
}

/** One requirement on savers. Running it checks a saver: it rejects if the saver doesn't meet the requirement. */
export interface Clause {
  /** The capability, named as in Python's suite: `put`, `put_writes`, … */
  group: string;
  /** Unique among all groups. Clauses of Python's suite keep their names, without `test_`. */
  name: string;
  /** The method that the clause tests, if savers may lack it. */
  needs?: ExtendedMethod;
  run(context: ClauseContext): Promise<void>;
}

/** Makes the clauses of a group. Their names are the keys. */
export const clauseGroup = (
  group: string,
  runs: Readonly<Record<string, Clause["run"]>>,
  needs?: ExtendedMethod,
): Clause[] =>
  Object.entries(runs).map(([name, run]) =>
    needs === undefined ? { group, name, run } : { group, name, needs, run },
  );

/** An extended method of a saver, bound to it. Throws if the saver doesn't have it. */
export const extended = <M extends ExtendedMethod>(saver: ConformingSaver, method: M): ExtendedMethods[M] => {
  const found = saver[method];
  if (typeof found !== "function") throw new Error(`The saver has no method ${method}()`);
  return found.bind(saver) as ExtendedMethods[M];
};
