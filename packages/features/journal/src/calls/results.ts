/** A result as the journal stores it, without what is specific to the call that made it. */
export type KeptResult = ReturnedResult | ThrownCommand;

/** What a call returned. */
export type ReturnedResult =
  | { readonly kind: "value"; readonly value: unknown }
  /** A ToolMessage, reduced to its stored fields. */
  | { readonly kind: "message"; readonly message: KeptMessage }
  /** A Command whose update has ToolMessages for the call. */
  | { readonly kind: "command"; readonly command: unknown; readonly toolCallId: string };

/** A Command that a call threw, as LangGraph's `ParentCommand`: it leaves the node, for a surrounding graph. */
export interface ThrownCommand {
  readonly kind: "thrown";
  readonly command: ReturnedResult;
  /**
   * The rest of the graph's name after the task's namespace, which differs each time, if the Command names the graph of the task that made
   * the call; undefined for another graph. LangGraph puts a number there for the second graph that a task runs.
   */
  readonly here?: string | undefined;
}

/** How a call ended: it returned a value, or threw a Command. */
export interface Ending {
  /** The value, or the Command. */
  readonly value: unknown;
  /** The error that carried the Command; undefined if it was returned. */
  readonly thrown?: unknown;
}

/** The stored fields of a ToolMessage. Its id and the call's id are new each time that it is given. */
export interface KeptMessage {
  readonly content: unknown;
  readonly name?: string | undefined;
  readonly status?: string | undefined;
  readonly artifact?: unknown;
  readonly additional_kwargs?: unknown;
  readonly response_metadata?: unknown;
  readonly metadata?: unknown;
}

interface ToolMessageLike extends KeptMessage {
  getType(): string;
  readonly tool_call_id: string;
}

interface CommandLike {
  readonly graph?: unknown;
  readonly update?: unknown;
  readonly goto?: unknown;
}

/** Whether a value is a ToolMessage, from any copy of langchain. */
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

/** Whether a value answers a call: a ToolMessage, or the plain object from which LangGraph makes one. */
function answersCall(value: unknown): value is { readonly tool_call_id: string } {
  return typeof (Object(value) as { tool_call_id?: unknown }).tool_call_id === "string";
}

/** Whether a value is the message that asks for a call. */
function asksCall(value: unknown, toolCallId: string): boolean {
  const { tool_calls: calls } = Object(value) as { tool_calls?: unknown };
  return Array.isArray(calls) && calls.some((call) => (Object(call) as { id?: unknown }).id === toolCallId);
}

/**
 * Converts the ending of a call to its stored form.
 * @param toolCallId of the call; undefined if no model asked for it
 * @param namespace of the task that made it
 */
export function keptEnding(
  { value, thrown }: Ending,
  toolCallId: string | undefined,
  namespace: string | undefined,
): KeptResult {
  const command = keptResult(value, toolCallId);
  if (thrown === undefined) return command;
  return { kind: "thrown", command, here: behind((Object(value) as CommandLike).graph, namespace) };
}

/** The rest of a graph's name after a task's namespace; undefined for the name of another graph. */
function behind(graph: unknown, namespace: string | undefined): string | undefined {
  if (typeof graph !== "string" || namespace === undefined || !graph.startsWith(namespace)) return undefined;
  const rest = graph.slice(namespace.length);
  return /^(\|\d+)*$/.test(rest) ? rest : undefined;
}

/**
 * Converts the result of a model's call so that it can be given to another call. A result that code asked for is unchanged.
 * @param toolCallId of the call; undefined if no model asked for it
 */
export function keptResult(value: unknown, toolCallId: string | undefined): ReturnedResult {
  if (toolCallId === undefined) return { kind: "value", value };
  if (isToolMessage(value)) {
    const { content, name, status, artifact, additional_kwargs, response_metadata, metadata } = value;
    return {
      kind: "message",
      message: { content, name, status, artifact, additional_kwargs, response_metadata, metadata },
    };
  }
  if (isCommand(value)) {
    const answers = messagesIn([value.update, value.goto]).filter(answersCall);
    // Some tools pass on all messages of the state, including answers to earlier calls.
    const answer = answers.find((each) => each.tool_call_id === toolCallId) ?? answers[0];
    if (answer !== undefined) return { kind: "command", command: value, toolCallId: answer.tool_call_id };
  }
  return { kind: "value", value };
}

/** The values in a part of a Command: in lists, plain objects, and the arguments of Sends. */
function messagesIn(part: unknown): readonly unknown[] {
  const found: unknown[] = [];
  changed(part, (value) => {
    found.push(value);
    return value;
  });
  return found;
}

/** A part of a Command in which `change` has replaced values in lists, plain objects and Sends. */
function changed(part: unknown, change: (value: unknown) => unknown): unknown {
  const made = change(part);
  if (made !== part) return made;
  if (Array.isArray(part)) return part.map((value) => changed(value, change));
  if (typeof part !== "object" || part === null) return part;
  const prototype = Object.getPrototypeOf(part) as object | null;
  const isPlain = prototype === Object.prototype || prototype === null;
  if (!isPlain && (part as { lg_name?: unknown }).lg_name !== "Send") return part;
  const fields = Object.entries(part).map(([name, value]) => [name, changed(value, change)]);
  return Object.assign(Object.create(prototype) as object, Object.fromEntries(fields));
}

/** Makes ToolMessages; passed in by code that knows langchain. */
export type MakeToolMessage = (message: KeptMessage, toolCallId: string) => unknown;

/**
 * The result, adapted to the call that asks now.
 * @param toolCallId of the call; undefined if code called the tool by itself, which gets content and no message
 * @param asking the message that asks now; it replaces the one that asked then, if a tool passes that on
 */
export function givenResult(
  kept: ReturnedResult,
  toolCallId: string | undefined,
  make: MakeToolMessage,
  asking?: unknown,
): unknown {
  if (kept.kind === "value") return kept.value;
  if (kept.kind === "message")
    return toolCallId === undefined ? kept.message.content : make(kept.message, toolCallId);
  const { command } = kept;
  if (toolCallId === undefined || !isCommand(command)) return command;
  const renew = (value: unknown): unknown => {
    if (asking !== undefined && asksCall(value, kept.toolCallId)) return asking;
    if (!answersCall(value) || value.tool_call_id !== kept.toolCallId) return value;
    if (isToolMessage(value)) return make(value, toolCallId);
    const { id: _id, ...plain } = value as { id?: unknown };
    return { ...plain, tool_call_id: toolCallId };
  };
  return withFields(command, {
    update: changed(command.update, renew),
    goto: changed(command.goto, renew),
  });
}

/** The part of a result that people and compensations get. */
export function plainResult(kept: KeptResult): unknown {
  if (kept.kind === "thrown") return plainResult(kept.command);
  if (kept.kind === "value") return kept.value;
  return kept.kind === "message" ? kept.message : kept.command;
}

/** A copy of an object, of the same class, with other fields. */
export function withFields(object: object, fields: object): object {
  return Object.assign(Object.create(Object.getPrototypeOf(object) as object) as object, object, fields);
}
