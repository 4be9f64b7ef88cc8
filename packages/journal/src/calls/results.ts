/** A result as the journal keeps it, without what belongs to the one call that it was made for. */
export type KeptResult =
  | { readonly kind: "value"; readonly value: unknown }
  /** A ToolMessage, taken apart. */
  | { readonly kind: "message"; readonly message: KeptMessage }
  /** A Command whose update has ToolMessages for the call. */
  | { readonly kind: "command"; readonly command: unknown; readonly toolCallId: string };

/** What stays of a ToolMessage. Its id and the call's id are new each time that it is given. */
export interface KeptMessage {
  readonly content: unknown;
  readonly name?: string | undefined;
  readonly status?: string | undefined;
  readonly artifact?: unknown;
  readonly additional_kwargs?: unknown;
  readonly metadata?: unknown;
}

interface ToolMessageLike extends KeptMessage {
  getType(): string;
  readonly tool_call_id: string;
}

interface CommandLike {
  readonly update?: unknown;
}

/** Whether a value is a ToolMessage, of whatever copy of langchain. */
export function isToolMessage(value: unknown): value is ToolMessageLike {
  return (
    typeof value === "object" &&
    value !== null &&
    typeof (value as Partial<ToolMessageLike>).getType === "function" &&
    (value as ToolMessageLike).getType() === "tool"
  );
}

function isCommand(value: unknown): value is CommandLike {
  return (
    typeof value === "object" && value !== null && (value as { lg_name?: unknown }).lg_name === "Command"
  );
}

/** Whether a value answers a call: a ToolMessage, or the plain object that LangGraph makes one of. */
function answersCall(value: unknown): value is { readonly tool_call_id: string } {
  return typeof (Object(value) as { tool_call_id?: unknown }).tool_call_id === "string";
}

/**
 * Takes the result of a model's call apart, so that it can be given to another call. What code asked for is kept as it is.
 * @param toolCallId of the call; undefined where no model asked for it
 */
export function keptResult(value: unknown, toolCallId: string | undefined): KeptResult {
  if (toolCallId === undefined) return { kind: "value", value };
  if (isToolMessage(value)) {
    const { content, name, status, artifact, additional_kwargs, metadata } = value;
    return { kind: "message", message: { content, name, status, artifact, additional_kwargs, metadata } };
  }
  if (isCommand(value)) {
    const answered = messagesIn(value.update).find(answersCall)?.tool_call_id;
    if (answered !== undefined) return { kind: "command", command: value, toolCallId: answered };
  }
  return { kind: "value", value };
}

/** The messages in a Command's update, which is an object or a list of pairs. */
function messagesIn(update: unknown): readonly unknown[] {
  const entries = Array.isArray(update) ? (update as unknown[]) : Object.entries(Object(update));
  return entries.flatMap((entry) => (Array.isArray(entry) ? (entry[1] as unknown) : entry)).flat();
}

/** Makes ToolMessages; given by whoever knows langchain. */
export type MakeToolMessage = (message: KeptMessage, toolCallId: string) => unknown;

/**
 * The result for the call that asks now.
 * @param toolCallId of the call; undefined where code called the tool by itself, which gets content and no message
 */
export function givenResult(
  kept: KeptResult,
  toolCallId: string | undefined,
  make: MakeToolMessage,
): unknown {
  if (kept.kind === "value") return kept.value;
  if (kept.kind === "message")
    return toolCallId === undefined ? kept.message.content : make(kept.message, toolCallId);
  const { command } = kept;
  if (toolCallId === undefined || !isCommand(command)) return command;
  const renew = (value: unknown): unknown => {
    if (answersCall(value) && value.tool_call_id === kept.toolCallId) {
      if (isToolMessage(value)) return make(value, toolCallId);
      const { id: _id, ...plain } = value as { id?: unknown };
      return { ...plain, tool_call_id: toolCallId };
    }
    return Array.isArray(value) ? value.map(renew) : value;
  };
  const { update } = command;
  const renewed = Array.isArray(update)
    ? update.map(renew)
    : Object.fromEntries(Object.entries(Object(update)).map(([key, value]) => [key, renew(value)]));
  return Object.assign(Object.create(Object.getPrototypeOf(command) as object) as object, command, {
    update: renewed,
  });
}
