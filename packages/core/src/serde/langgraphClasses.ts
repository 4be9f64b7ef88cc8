/**
 * The constructors of LangGraph whose instances are stored. This package does not depend on LangGraph, and an
 * older one may lack some.
 */
export interface LangGraphClasses {
  readonly Send?: new (node: string, args: unknown) => object;
  readonly Command?: new (fields: Record<string, unknown>) => object;
  readonly Overwrite?: new (value: unknown) => object;
}

let loading: Promise<LangGraphClasses | undefined> | undefined;
let loaded: LangGraphClasses | undefined;

/** The classes, if an earlier {@link loadLangGraphClasses} found them. */
export function loadedLangGraphClasses(): LangGraphClasses | undefined {
  return loaded;
}

/** Imports the installed `@langchain/langgraph` once per process; `undefined` if there is none. */
export async function loadLangGraphClasses(): Promise<LangGraphClasses | undefined> {
  loading ??= import("@langchain/langgraph").then(
    (module: unknown) => module as LangGraphClasses,
    () => undefined,
  );
  loaded = await loading;
  return loaded;
}
