/**
 * The classes of LangGraph whose instances are stored. This package doesn't depend on LangGraph, and older versions may lack some
 * of them.
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
 * Loads the installed `@langchain/langgraph` once per process; undefined if there is none. Our CommonJS build loads LangGraph's
 * CommonJS build, and our ESM build the ESM one. Each has its own classes, and the application most likely uses the same kind of
 * build of both packages.
 */
export async function loadLangGraphClasses(): Promise<LangGraphClasses | undefined> {
  loading ??= importLangGraph();
  loaded = await loading;
  return loaded;
}

async function importLangGraph(): Promise<LangGraphClasses | undefined> {
  // With the import inside a try of the same function, bundlers accept that the package isn't installed.
  try {
    return (await import("@langchain/langgraph")) as LangGraphClasses;
  } catch {
    return undefined;
  }
}
