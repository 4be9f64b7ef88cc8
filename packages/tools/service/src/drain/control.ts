import type { RunControl } from "@langchain/langgraph";

/**
 * LangGraph's `RunControl`. LangGraph (1.4.12 to 1.7.3) asks it these two questions and nothing else, so LangGraph needn't be loaded here,
 * and a version that knows no `control` ignores it.
 */
export function createControl(): RunControl {
  let reason: string | undefined;
  const control = {
    requestDrain: (why = "shutdown") => void (reason = why),
    get drainRequested() {
      return reason !== undefined;
    },
    get drainReason() {
      return reason;
    },
  };
  return control satisfies { [Key in keyof RunControl]: RunControl[Key] } as unknown as RunControl;
}

/** Whether a graph ended because its control asked it to. Told by the name, as LangGraph does: there may be two copies of it. */
export function isDrained(error: unknown): boolean {
  return (error as { name?: unknown } | undefined)?.name === "GraphDrained";
}
