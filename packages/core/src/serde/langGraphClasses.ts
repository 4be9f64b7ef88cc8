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

/**
 * Loads the installed `@langchain/langgraph` once per process; `undefined` if there is none. Its CommonJS build in ours: each
 * has classes of its own, and an application's are those of the kind it loaded us in.
 */
export async function loadLangGraphClasses(): Promise<LangGraphClasses | undefined> {
  loading ??= importLangGraph();
  loaded = await loading;
  return loaded;
}

async function importLangGraph(): Promise<LangGraphClasses | undefined> {
  // In a try of the same function: bundlers then leave a package that isn't installed to run time.
  try {
    return (await import("@langchain/langgraph")) as LangGraphClasses;
  } catch {
    return undefined;
  }
}
