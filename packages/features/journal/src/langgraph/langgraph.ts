/** Before LangGraph 1.5 it takes no schema, and leaves one out. */
type Interrupt = (value: unknown, options?: { readonly responseSchema?: object }) => unknown;

interface Interrupts {
  readonly interrupt: Interrupt;
  /** Stops a task; the graph asks what others of its step ask. */
  readonly leave: () => never;
}

let loading: Promise<Interrupts | undefined> | undefined;

/** LangGraph's interrupts; undefined if LangGraph isn't installed. */
export function loadInterrupts(): Promise<Interrupts | undefined> {
  loading ??= load();
  return loading;
}

async function load(): Promise<Interrupts | undefined> {
  try {
    const { interrupt, GraphInterrupt } = await import("@langchain/langgraph");
    return {
      interrupt,
      leave: () => {
        throw new GraphInterrupt([]);
      },
    };
  } catch {
    return undefined;
  }
}

/** LangGraph's error that carries a Command to a surrounding graph. */
export async function loadParentCommand(): Promise<new (command: never) => Error> {
  const { ParentCommand } = await import("@langchain/langgraph");
  return ParentCommand;
}

/** The class of langchain's ToolMessages. */
export async function loadToolMessage(): Promise<new (fields: Record<string, unknown>) => unknown> {
  const { ToolMessage } = await import("@langchain/core/messages");
  return ToolMessage as unknown as new (fields: Record<string, unknown>) => unknown;
}

/**
 * Whether an error says that a tool's schema rejected the arguments, so that nothing ran. Another tool within this one may throw such an
 * error, too, after this one has acted, so the arguments are checked.
 */
export async function refusesArguments(tool: object, args: unknown, error: unknown): Promise<boolean> {
  const { ToolInputParsingException } = await import("@langchain/core/tools");
  const { name, constructor } = Object(error) as { name?: unknown; constructor?: { name?: unknown } };
  // The class may come from another copy of langchain; before 1.0 it was the error's name.
  const isNamed = [name, constructor?.name].includes("ToolInputParsingException");
  if (!(error instanceof ToolInputParsingException) && !isNamed) return false;
  const { schema } = tool as { schema?: unknown };
  const { isInteropZodSchema, interopSafeParseAsync } = await import("@langchain/core/utils/types");
  if (isInteropZodSchema(schema)) return !(await interopSafeParseAsync(schema, args)).success;
  const { Validator } = await import("@langchain/core/utils/json_schema");
  return !new Validator(schema as ConstructorParameters<typeof Validator>[0]).validate(args).valid;
}

/** langchain's description of a tool for a model: name, description and JSON schema. */
export async function loadConvertTool(): Promise<(tool: unknown) => unknown> {
  const { convertToOpenAITool } = await import("@langchain/core/utils/function_calling");
  return convertToOpenAITool as unknown as (tool: unknown) => unknown;
}
