type Interrupt = (value: unknown) => unknown;

let loading: Promise<Interrupt | undefined> | undefined;

/** LangGraph's `interrupt`; undefined where LangGraph isn't installed. */
export function loadInterrupt(): Promise<Interrupt | undefined> {
  loading ??= load();
  return loading;
}

async function load(): Promise<Interrupt | undefined> {
  try {
    const { interrupt } = await import("@langchain/langgraph");
    return interrupt;
  } catch {
    return undefined;
  }
}

/** Makes ToolMessages of langchain. */
export async function loadToolMessage(): Promise<new (fields: Record<string, unknown>) => unknown> {
  const { ToolMessage } = await import("@langchain/core/messages");
  return ToolMessage as unknown as new (fields: Record<string, unknown>) => unknown;
}
