// long file: the chain of a graph's calls, and what its messages say of them
import { currentCall, isTaskOfCall } from "../calls/currentCall.ts";
import { notWired } from "../errors.ts";
import { canonical } from "../identity/canonical.ts";
import {
  digestOf,
  fingerprintsOf,
  headAfter,
  rootOfChain,
  sha256,
  type NamedTool,
} from "../identity/fingerprint.ts";
import type { Task } from "./taskConfig.ts";

/** The key in a graph's state for the position of its chain of calls. `_` hides it from an agent's input and output. */
export const chainKey = "_stratigraphCalls";

/** The position of a chain of calls. It is a part of the graph's state, so that forks, edits and time travel move it. */
export interface ChainState {
  /** Its head before the calls of the last message with calls. */
  readonly previous: string;
  /** Its head after them. */
  readonly next: string;
  /** The ids of those calls, by which a message is recognised. */
  readonly ids: readonly string[];
}

interface ModelMessage {
  readonly id?: string | undefined;
  readonly tool_calls?:
    | readonly { readonly name: string; readonly args: unknown; readonly id?: string | undefined }[]
    | undefined;
  getType?(): string;
}

/** The chain's state in a graph's state, if there is one. */
function chainStateIn(state: unknown): ChainState | undefined {
  return asChainState((Object(state) as Record<string, unknown>)[chainKey]);
}

function asChainState(value: unknown): ChainState | undefined {
  const { previous, next, ids } = Object(value) as Partial<ChainState>;
  return typeof next === "string" && typeof previous === "string" && Array.isArray(ids)
    ? (value as ChainState)
    : undefined;
}

/** The chain after a model's message: the update that a node returns along with it. Undefined if the message makes no calls. */
export function chainAfter(
  state: unknown,
  message: ModelMessage,
  task: Task,
  nameOf: (tool: string) => NamedTool,
): ChainState | undefined {
  const calls = message.tool_calls ?? [];
  if (calls.length === 0) return undefined;
  // A node may pass only a part of the state.
  const chain = chainStateIn(state) ?? asChainState(task.channel(chainKey));
  const previous = chain?.next ?? beginning(task, state, message, nameOf);
  const fingerprints = fingerprintsOf(calls, previous, nameOf);
  return {
    previous,
    next: headAfter(previous, fingerprints),
    ids: calls.flatMap(({ id }) => (id === undefined ? [] : [id])),
  };
}

/**
 * The place of a state's first message in the chain. If the thread has calls from before its graph had a chain, the place is after these:
 * an equal call is another one.
 */
function beginning(
  task: Task,
  state: unknown,
  message: ModelMessage,
  nameOf: (tool: string) => NamedTool,
): string {
  const messages = messagesOf(state ?? task.input);
  const at = messages.findIndex((other) => isSame(other, message));
  const earlier = at < 0 ? messages : messages.slice(0, at);
  let head = chainRoot(task, asNamedAtFirst(earlier, nameOf));
  for (const { tool_calls = [] } of modelMessagesOf(earlier))
    head = headAfter(head, fingerprintsOf(tool_calls, head, nameOf));
  return head;
}

/** Messages with the first names of the tools in them. */
function asNamedAtFirst(messages: readonly unknown[], nameOf: (tool: string) => NamedTool): unknown[] {
  return messages.map((message) => {
    const { getType, content, name, tool_calls: calls } = Object(message) as ModelMessage & ToolAnswer;
    if (typeof getType !== "function") return message;
    const type = getType.call(message);
    return {
      getType: () => type,
      content,
      name: type === "tool" && name !== undefined ? nameOf(name).tool : name,
      tool_calls: calls?.map((each) => ({ name: nameOf(each.name).tool, args: each.args })),
    };
  });
}

interface ToolAnswer {
  readonly content?: unknown;
  readonly name?: string | undefined;
}

function isSame(one: unknown, other: ModelMessage): boolean {
  return one === other || (other.id !== undefined && (Object(one) as ModelMessage).id === other.id);
}

/** The place of a tool call in its chain. */
export interface ChainPlace {
  readonly previous: string;
  readonly nth: number;
  /** Whether code named the call. Then `nth` isn't known, except for a call outside graphs, or one that another call makes. */
  readonly isNamed?: boolean | undefined;
  /** The `previous` of the equal calls that its message may ask for, if each has its own. */
  readonly ofMessage?: (() => readonly string[]) | undefined;
  /**
   * For a named call of a tool with earlier names: what `previous` was under each of these, for this call, and before it for the equal calls
   * that precede it in its message.
   */
  readonly formerly?: readonly (readonly string[])[] | undefined;
}

/** The place of a call that a message asks for. */
interface AskedPlace extends ChainPlace {
  /** How many calls the message, or the messages of its step, ask for. */
  readonly calls: number;
}

/**
 * The place of a call that a message of the task's input asks for. Undefined for a call that code makes: no message asks for it, or code in
 * a node or a task asked the model itself.
 * @throws StratigraphError "NOT_WIRED" if the state has no chain with the message
 */
export function chainPlace(
  task: Task,
  [tool, ...formerly]: readonly [string, ...string[]],
  toolCallId: string | undefined,
): AskedPlace | undefined {
  if (toolCallId === undefined) return undefined;
  const messages = modelMessagesOf(task.input);
  const position = messages.findLastIndex((message) => asksFor(message, toolCallId));
  const inInput = chainStateIn(task.input);
  if (position < 0)
    return inInput?.ids.includes(toolCallId) ? { previous: inInput.previous, nth: 0, calls: 1 } : undefined;
  const calls = messages[position]!.tool_calls!;
  // Some servers give two calls of a message the same id: the second one that is made is taken for the message's second one.
  const ofId = calls.flatMap(({ id, name }, n) =>
    id === toolCallId && (name === tool || formerly.includes(name)) ? [n] : [],
  );
  // The tool that the message asks for calls another tool.
  if (ofId.length === 0) return undefined;
  // A node may have got only a part of the state.
  const chain = [inInput, asChainState(task.channel(chainKey))].find((state) =>
    calls.some(({ id = "" }) => state?.ids.includes(id)),
  );
  if (chain === undefined) return notInChain(task, tool, toolCallId);
  const made = ofId.length === 1 ? 0 : countInAttempt(task, tool, toolCallId, String(position));
  const at = ofId[Math.min(made, ofId.length - 1)]!;
  const ofStep = callsBeside(task, messages[position]!, chain);
  const nth = countEqualBefore([...ofStep, ...calls], ofStep.length + at);
  return { previous: chain.previous, nth, calls: Math.max(calls.length, chain.ids.length) };
}

/** The calls of messages that nodes of the same step added before a message: each of these nodes asked a model. */
function callsBeside(
  task: Task,
  message: ModelMessage,
  { ids }: ChainState,
): NonNullable<ModelMessage["tool_calls"]> {
  const all = messagesOf(task.input) as readonly ModelMessage[];
  const at = all.indexOf(message);
  let from = at;
  while (from > 0 && all[from - 1]!.tool_calls?.some(({ id = "" }) => ids.includes(id)) === true) from -= 1;
  return all.slice(from, at).flatMap(({ tool_calls: calls = [] }) => calls);
}

/** Refuses a call that a message in a graph's state asks for. Returns undefined for a call that code makes, which is then counted. */
function notInChain(task: Task, tool: string, toolCallId: string): undefined {
  const isOfNode = modelMessagesOf(task.nodeInput()).some((message) => asksFor(message, toolCallId));
  if (!isOfNode && withinOf(task) !== undefined) return undefined;
  const hasChannel = !isOfNode || task.channel(chainKey) !== undefined;
  throw notWired(task.journal ?? "", tool, hasChannel ? "next" : "channel", isOfNode);
}

function asksFor({ tool_calls: calls }: ModelMessage, toolCallId: string): boolean {
  return calls?.some(({ id }) => id === toolCallId) === true;
}

/** The message of the task's input that asks for a call; undefined if none does. */
export function askingMessage(task: Task, toolCallId: string | undefined): unknown {
  if (toolCallId === undefined) return undefined;
  return modelMessagesOf(task.input).findLast((message) => asksFor(message, toolCallId));
}

/** The ids of a call, and of those that messages asked for by a tool's earlier names and that were answered by an error, or not at all. */
export function unansweredIds(
  task: Task,
  names: readonly string[],
  toolCallId: string | undefined,
): readonly string[] {
  const messages = messagesOf(task.input) as readonly (ModelMessage & {
    readonly tool_call_id?: string;
    readonly status?: string;
  })[];
  const answered = new Set(
    messages.filter(({ status }) => status !== "error").map(({ tool_call_id: id }) => id),
  );
  const asked = modelMessagesOf(messages).flatMap(({ tool_calls: calls = [] }) => calls);
  const ids = asked.flatMap(({ id, name }) =>
    id !== undefined && names.includes(name) && !answered.has(id) ? [id] : [],
  );
  return toolCallId === undefined ? ids : [toolCallId, ...ids];
}

/**
 * Whether a person said something since the model last asked for the call that it asks for now; undefined if no message shows that it did.
 * @param formerly the tool's earlier names
 */
export function isAskedAnew(
  task: Task,
  toolCallId: string | undefined,
  formerly: readonly string[],
): boolean | undefined {
  const asking = askingMessage(task, toolCallId) as ModelMessage | undefined;
  const messages = messagesOf(task.input) as readonly ModelMessage[];
  const call = asking?.tool_calls?.find(({ id }) => id === toolCallId);
  if (call === undefined) return undefined;
  const names = [call.name, ...formerly];
  const asked = digestOf(call.args);
  const before = messages.slice(0, messages.indexOf(asking!));
  const last = before.findLastIndex(({ tool_calls: calls }) =>
    calls?.some(({ name, args }) => names.includes(name) && digestOf(args) === asked),
  );
  return last < 0 ? undefined : before.slice(last).some((message) => message.getType?.() === "human");
}

/**
 * The call of a message for which a tool that isn't the journal's own runs. Two calls of one message are two, and their arguments
 * distinguish them. Undefined if no message asks for it.
 */
export function askedCall(task: Task, toolCallId: string | undefined): string | undefined {
  const { tool_calls: calls = [] } = (askingMessage(task, toolCallId) ?? {}) as ModelMessage;
  const at = calls.findIndex(({ id }) => id === toolCallId);
  if (at < 0) return undefined;
  const { name, args } = calls[at]!;
  return digestOf([name, args, countEqualBefore(calls, at)]);
}

/** Whether the task's state ends with a message that asks for several calls, as that of a node that runs tools does. */
export function asksForSeveral({ input }: Task): boolean {
  const { tool_calls: calls = [] } = (messagesOf(input).at(-1) ?? {}) as ModelMessage;
  return calls.length > 1;
}

function countEqualBefore(calls: NonNullable<ModelMessage["tool_calls"]>, at: number): number {
  const same = digestOf([calls[at]!.name, calls[at]!.args]);
  return calls.slice(0, at).filter(({ name, args }) => digestOf([name, args]) === same).length;
}

/** The chain after a step in which several nodes asked models, all from the same state. The order in which they ended doesn't matter. */
export function joined(states: readonly ChainState[]): ChainState {
  const heads = states.map(({ next }) => next).toSorted();
  return {
    previous: states[0]!.previous,
    next: sha256(canonical(["batch/1", heads])),
    ids: states.flatMap(({ ids }) => ids).toSorted(),
  };
}

/**
 * The chain after an update, if LangGraph passes the updates of one step one by one: nodes that asked models from the same state began at
 * the same head, and both are kept.
 */
export function after(state: ChainState, update: ChainState | undefined): ChainState {
  const isSame = update?.next === state.next && update.ids.join() === state.ids.join();
  if (update === undefined || isSame) return state;
  return update.previous === state.previous ? joined([state, update]) : update;
}

const asked = new WeakMap<object, Map<string, number>>();

/** The place of a question to a model: after the head of the chain in the task's state, and after equal questions of the same attempt. */
export function placeOfModel(task: Task, model: string, argsText: string): ChainPlace {
  const previous = chainStateIn(task.input)?.next ?? chainRoot(task, messagesOf(task.input));
  return { previous, nth: countInAttempt(task, model, argsText) };
}

/** The scope in which code makes calls in order: the call that runs it, or the attempt of its task; undefined outside both. */
export function withinOf({ attempt, where }: Task): object | undefined {
  return isTaskOfCall(where.task) ? currentCall() : attempt;
}

/** How many equal calls code made before this one, in the same attempt of the task or within the same call. */
export function countInAttempt(task: Task, ...what: readonly (string | null)[]): number {
  const within = withinOf(task);
  if (within === undefined) return 0;
  const counts = asked.get(within) ?? new Map<string, number>();
  asked.set(within, counts);
  const key = JSON.stringify(what);
  const nth = counts.get(key) ?? 0;
  counts.set(key, nth + 1);
  return nth;
}

/** Where the chain of the task's graph begins. */
function chainRoot(task: Task, messages: readonly unknown[]): string {
  const origin = currentCall()?.idempotencyKey ?? digestOf(messages);
  return rootOfChain(task.namespace, task.callScope ?? null, origin);
}

function messagesOf(state: unknown): readonly unknown[] {
  if (Array.isArray(state)) return state;
  const { messages } = Object(state) as { messages?: unknown };
  return Array.isArray(messages) ? messages : [];
}

function modelMessagesOf(state: unknown): readonly ModelMessage[] {
  return messagesOf(state).filter(
    (message): message is ModelMessage =>
      typeof message === "object" && message !== null && Array.isArray((message as ModelMessage).tool_calls),
  );
}
