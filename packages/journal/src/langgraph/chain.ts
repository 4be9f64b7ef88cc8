import { currentCall, isTaskOfCall } from "../calls/currentCall.ts";
import { canonical } from "../identity/canonical.ts";
import { digestOf, fingerprintsOf, headAfter, rootOfChain, sha256 } from "../identity/fingerprint.ts";
import type { Task } from "./taskConfig.ts";

/** The key under which a graph's state holds where its chain of calls stands. `_` hides it from an agent's input and output. */
export const chainKey = "_stratigraphCalls";

/** Where a chain of calls stands: part of the graph's state, so that forks, edits and time travel move it. */
export interface ChainState {
  /** Its head before the calls of the last message that made some. */
  readonly previous: string;
  /** Its head after them. */
  readonly next: string;
  /** The ids of those calls, by which a message is recognised. */
  readonly ids: readonly string[];
}

interface ModelMessage {
  readonly tool_calls?:
    | readonly { readonly name: string; readonly args: unknown; readonly id?: string | undefined }[]
    | undefined;
  getType?(): string;
}

/** The state of a chain, if that is what the value is. */
function chainStateIn(state: unknown): ChainState | undefined {
  const found = (Object(state) as Record<string, unknown>)[chainKey] as Partial<ChainState> | undefined;
  return typeof found?.next === "string" && typeof found.previous === "string" && Array.isArray(found.ids)
    ? (found as ChainState)
    : undefined;
}

/** The chain after a model's message: what a node returns along with it. Undefined where the message makes no calls. */
export function chainAfter(
  state: unknown,
  message: ModelMessage,
  task: Task,
  versionOf: (tool: string) => string | null,
): ChainState | undefined {
  const calls = message.tool_calls ?? [];
  if (calls.length === 0) return undefined;
  const previous = chainStateIn(state)?.next ?? chainRoot(task, state);
  const fingerprints = fingerprintsOf(calls, previous, versionOf);
  return {
    previous,
    next: headAfter(previous, fingerprints),
    ids: calls.flatMap(({ id }) => (id === undefined ? [] : [id])),
  };
}

/** The place of a tool call in its chain. */
export interface ChainPlace {
  readonly previous: string;
  readonly nth: number;
  /** False where the state has no chain, and the place was derived from the messages that are left in it. */
  readonly kept: boolean;
  /** Whether code named the call. `nth` isn't known then, but for a call outside graphs, or one that another call makes. */
  readonly isNamed?: boolean | undefined;
}

/** The place of a call that a message of the task's input asks for; undefined where no message does. */
export function chainPlace(
  task: Task,
  toolCallId: string | undefined,
  versionOf: (tool: string) => string | null,
): ChainPlace | undefined {
  if (toolCallId === undefined) return undefined;
  const messages = modelMessagesOf(task.input);
  const position = messages.findLastIndex(({ tool_calls }) =>
    tool_calls?.some(({ id }) => id === toolCallId),
  );
  const state = chainStateIn(task.input);
  const kept = state?.ids.includes(toolCallId) === true;
  if (position < 0) return kept ? { previous: state.previous, nth: 0, kept } : undefined;
  const calls = messages[position]!.tool_calls!;
  // Some servers give two calls of a message one id: the second one that is made is the second one of the message.
  const ofId = calls.flatMap(({ id }, n) => (id === toolCallId ? [n] : []));
  const made = ofId.length === 1 ? 0 : countInAttempt(task, toolCallId, String(position));
  const at = ofId[Math.min(made, ofId.length - 1)]!;
  let previous = kept ? state.previous : chainRoot(task, undefined);
  if (!kept)
    for (const earlier of messages.slice(0, position))
      previous = headAfter(previous, fingerprintsOf(earlier.tool_calls ?? [], previous, versionOf));
  return { previous, nth: countEqualBefore(calls, at), kept };
}

/** The message of the task's input that asks for a call; undefined where none does. */
export function askingMessage(task: Task, toolCallId: string | undefined): unknown {
  if (toolCallId === undefined) return undefined;
  return modelMessagesOf(task.input).findLast(({ tool_calls }) =>
    tool_calls?.some(({ id }) => id === toolCallId),
  );
}

function countEqualBefore(calls: NonNullable<ModelMessage["tool_calls"]>, at: number): number {
  const same = digestOf([calls[at]!.name, calls[at]!.args]);
  return calls.slice(0, at).filter(({ name, args }) => digestOf([name, args]) === same).length;
}

/** The chain after a step in which several nodes asked models, all from the same state: in whatever order they ended. */
export function joined(states: readonly ChainState[]): ChainState {
  const heads = states.map(({ next }) => next).toSorted();
  return {
    previous: states[0]!.previous,
    next: sha256(canonical(["batch/1", heads])),
    ids: states.flatMap(({ ids }) => ids).toSorted(),
  };
}

const asked = new WeakMap<object, Map<string, number>>();

/** The place of a question to a model: after the head of the chain in the task's state, and after equal ones of the same attempt. */
export function placeOfModel(task: Task, model: string, argsText: string): ChainPlace {
  const previous = chainStateIn(task.input)?.next ?? chainRoot(task, undefined);
  return { previous, nth: countInAttempt(task, model, argsText), kept: true };
}

/** Within what code makes calls in order: the call that runs it, or the attempt of its task; undefined outside both. */
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
function chainRoot(task: Task, state: unknown): string {
  const origin = currentCall()?.idempotencyKey ?? digestOf(messagesOf(state ?? task.input));
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
