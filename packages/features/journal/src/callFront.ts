// long file: the front of all calls
import { InvalidOptionError, StratigraphError } from "@stratigraph/core";
import {
  checkCallOptions,
  checkDeclared,
  checkToolName,
  formerTools,
  optionsOf,
} from "./calls/checkCallOptions.ts";
import type { CallOutcome } from "./calls/plannedCall.ts";
import type { FormerCall } from "./calls/resolve.ts";
import { Compensations } from "./calls/compensations.ts";
import { currentCall, type CurrentCall } from "./calls/currentCall.ts";
import { frozen } from "./calls/judged.ts";
import { plainResult } from "./calls/results.ts";
import { CallDeniedError, sameName, unknownAsker } from "./errors.ts";
import { canonical } from "./identity/canonical.ts";
import { digestOfName, type NamedTool } from "./identity/fingerprint.ts";
import {
  askedCall,
  asksForSeveral,
  chainAfter,
  chainKey,
  chainPlace,
  countInAttempt,
  placeOfModel,
  unansweredIds,
  withinOf,
  type ChainPlace,
  type ChainState,
} from "./langgraph/chain.ts";
import { ChainChannel } from "./langgraph/chainChannel.ts";
import { askedId, taskOf, type Task } from "./langgraph/taskConfig.ts";
import { wrapModel, type ModelLike } from "./langgraph/wrapModel.ts";
import { throwAgain } from "./langgraph/throwAgain.ts";
import { isWrapped, wrapTool, type RefusedCall, type ToolLike } from "./langgraph/wrapTool.ts";
import type { CallOptions, ToolOptions } from "./options.ts";

/** A call that plain code makes. */
export interface PlainCall extends CallOptions {
  /**
   * Names the call, and identifies it after a crash, a retry or a fork. Calls of one step with different arguments need different names:
   * `charge ${order}`.
   */
  readonly id: string;
  /** Names what is called, for the policy and the trail. Default: `id`. */
  readonly tool?: string | undefined;
  /** The arguments, for the policy, the trail and `work`: JSON. Default: null. */
  readonly args?: unknown;
}

/** The argument of a plain call's function. */
export interface PlainCallContext extends CurrentCall {
  /** Frozen. */
  readonly args: unknown;
  readonly signal: AbortSignal | undefined;
}

/** A call with its place, before its fingerprint is made. */
export interface PlacedCall {
  readonly tool: string;
  readonly version: string | null;
  /** Canonical JSON. */
  readonly argsText: string;
  /** JSON of the arguments, with the names in their original order. */
  readonly given: string;
  readonly place: ChainPlace;
  readonly toolCallId: string | undefined;
  /** By what else it may have been recorded: the tool's earlier names, and ids of calls that nobody answered. */
  readonly former?: FormerCall | undefined;
  /** Whether an error says that a tool rejected its arguments. */
  readonly refused?: ((error: unknown) => Promise<boolean>) | undefined;
}

/**
 * The interface for graphs: tools, a channel, and functions that make calls. The subclass decides what happens to a call: a journal makes
 * it once, a replay returns what was recorded.
 */
export abstract class CallFront {
  /** What tools were called at first. */
  readonly #firstNames = new Map<string, NamedTool>();

  /** The functions that undo calls. */
  protected readonly compensations = new Compensations();

  /**
   * Channels for the state of a StateGraph: `Annotation.Root({ ...MessagesAnnotation.spec, ...journal.channel })`, or
   * `new StateSchema({ messages: MessagesValue, ...journal.channel })`.
   */
  readonly channel: { readonly [chainKey]: ChainChannel } = { [chainKey]: new ChainChannel() };

  /**
   * Returns the update that a node has to return along with a model's message, so that the message's calls have a place in the chain:
   * `return { messages: [message], ...journal.next(state, message) }`. For a message that a person adds, pass it to `updateState`.
   * @throws InvalidOptionError
   */
  next(state: unknown, message: unknown, config?: unknown): { readonly [chainKey]?: ChainState } {
    if (typeof message !== "object" || message === null || Array.isArray(message))
      throw new InvalidOptionError("message", message, "Pass the message that the model gave.");
    const chain = chainAfter(
      state,
      message as Parameters<typeof chainAfter>[1],
      taskOf(config),
      (tool) => this.#firstNames.get(tool) ?? { tool, version: null },
    );
    return chain === undefined ? {} : { [chainKey]: chain };
  }

  /**
   * Tools whose calls go through the journal, for `createAgent`, `ToolNode` and `bindTools`. Each keeps its class, name and schema. Besides
   * what the tool throws, its `invoke` throws AmbiguousOutcomeError, StratigraphError as {@link run} does, and "NOT_WIRED" for a model's
   * call in a graph without {@link channel} and {@link next}. A model's call that is denied, or whose arguments aren't JSON, returns a message
   * with the status "error".
   * @param options what a repetition of each tool's calls would do, by the tools' names:
   * `{ search: "none", pay: { effects: "once", reconcile } }`
   * @throws InvalidOptionError
   */
  tools<T extends ToolLike>(tools: readonly T[], options: Readonly<Record<string, ToolOptions>>): T[] {
    checkTools(tools);
    if (typeof options !== "object" || options === null)
      throw new InvalidOptionError(
        "options",
        options,
        'Pass { name of a tool: "none", "idempotent" or "once" }.',
      );
    for (const [name, own] of Object.entries(options)) {
      const names = tools.map((tool) => tool.name);
      if (!names.includes(name))
        throw new InvalidOptionError(
          `tools.${name}`,
          "options",
          `There is no such tool; there are ${names.join(", ") || "none"}.`,
        );
      const { formerly, ...others } = optionsOf(own);
      checkCallOptions(`tools.${name}`, others);
      formerTools(name, { formerly });
    }
    for (const { name, metadata } of tools) {
      const { annotations } = Object(metadata) as { annotations?: unknown };
      checkDeclared(`tools.${name}`, options[name], annotations);
    }
    return tools.map((tool) => {
      const { formerly, ...own } = optionsOf(options[tool.name]);
      const named = { tool: tool.name, version: own.version ?? null };
      const former = formerTools(tool.name, { ...own, formerly });
      const names = former.map((each) => each.tool);
      for (const name of [tool.name, ...names.filter((name) => options[name] === undefined)]) {
        this.#firstNames.set(name, former.at(-1) ?? named);
        if (own.compensate !== undefined) this.compensations.setOfTool(name, own.compensate);
      }
      return wrapTool(tool, async ({ tool: name, args, isAsked, toolCallId, refused }, config, work) => {
        const task = taskOf(config);
        const argsText = canonicalOr(args, isAsked);
        if (typeof argsText !== "string") return argsText;
        const place = placeOfTool(task, [named, ...former], toolCallId, argsText);
        const given = JSON.stringify(args);
        const asked =
          former.length === 0 ? undefined : { now: name, names, ids: unansweredIds(task, names, toolCallId) };
        const planned = { ...named, argsText, given, place, toolCallId, refused, former: asked };
        return await this.call(task, config, planned, own, (looked) =>
          task.during((within) => work(looked, within)),
        );
      });
    });
  }

  /**
   * A chat model whose answers are recorded: the same question at the same place of the chain gets the recorded answer, and costs no
   * tokens. The policy sees it as a tool `model:<name>` without effects. Only `invoke` is covered, also after `bindTools`; `stream` and
   * `streamEvents` ask the model. A recorded answer streams no tokens to the graph's listeners. A call that the policy denies throws
   * CallDeniedError.
   * @throws InvalidOptionError
   */
  model<M extends ModelLike>(model: M): M {
    if (typeof (Object(model) as Partial<ModelLike>).invoke !== "function")
      throw new InvalidOptionError("model", model, "Pass a chat model.");
    return wrapModel(model, async ({ tool, args }, config, work) => {
      const task = taskOf(config);
      // Two nodes that ask the same want two answers.
      const argsText = canonical({ ...args, node: task.where.node ?? null });
      const chain = placeOfModel(task, tool, argsText);
      // In another turn the same question is asked again.
      const isOfTurn = task.attempt !== undefined && currentCall() === undefined;
      const place = isOfTurn ? placeOfNamed(task, tool, argsText, chain.previous, String(chain.nth)) : chain;
      const planned = { tool, version: null, argsText, given: argsText, place, toolCallId: undefined };
      return await valueOf(await this.call(task, config, planned, { effects: "none" }, work), task, tool);
    });
  }

  /**
   * Runs a function once, from a node or a task of a graph.
   * @param config of the node or task; its thread's journal is used
   * @returns what the function returned, or what it returned when the same call was made before
   * @throws what the function throws; InvalidOptionError, CallDeniedError, AmbiguousOutcomeError; StratigraphError "DUPLICATE_CALL",
   * "NOT_DURABLE", "RESULT_NOT_KEPT", "LOCKED" if the same call didn't end within `waitFor`, "SERIALIZATION" for arguments that aren't JSON
   */
  async run<R>(
    config: unknown,
    call: PlainCall,
    work: (context: PlainCallContext) => R | Promise<R>,
  ): Promise<R> {
    const { id, tool = id, args = null, ...options } = Object(call) as PlainCall;
    checkId(id);
    checkToolName("call.tool", tool);
    if (typeof work !== "function")
      throw new InvalidOptionError("work", work, "Pass the function that makes the call.");
    checkCallOptions("call", options);
    if (options.compensate !== undefined) this.compensations.setOfTool(tool, options.compensate);
    const task = taskOf(config);
    const version = options.version ?? null;
    const argsText = canonical(args);
    // A tool that isn't the journal's own may be asked for twice by one message.
    const isOuter = currentCall() === undefined;
    const asked = isOuter ? askedCall(task, askedId(config)) : undefined;
    const isLost = isOuter && asked === undefined && asksForSeveral(task);
    checkOnce(task, JSON.stringify([id, asked]), tool, argsText, isLost);
    const place = placeOfNamed(task, id, version, ...(asked === undefined ? [] : [asked]));
    const given = JSON.stringify(args);
    const planned = { tool, version, argsText, given, place, toolCallId: undefined };
    const outcome = await this.call(task, config, planned, options, (looked) =>
      task.during(() => work({ ...currentCall()!, args: frozen(looked), signal: task.signal })),
    );
    return (await valueOf(outcome, task, tool)) as R;
  }

  /** Makes a call, or finds out what came of it before. */
  protected abstract call(
    task: Task,
    config: unknown,
    placed: PlacedCall,
    options: CallOptions,
    work: (args: unknown) => unknown,
  ): Promise<CallOutcome>;
}

/** The place of a call that code names. Its number among the calls of that name is found out in the journal. */
function placeOfNamed(task: Task, id: string, ...more: readonly (string | null)[]): ChainPlace {
  // Names in a thread's graph and names in code outside it are kept apart.
  const within = currentCall()?.idempotencyKey ?? (task.attempt === undefined ? "outside" : null);
  const previous = digestOfName(within, task.callScope ?? null, id, ...more);
  return { previous, nth: 0, isNamed: true };
}

/**
 * The place of a tool's call. A chain may begin anew each time that code runs its graph, such as that of an agent in a node. Such a chain
 * doesn't identify the turn, so a call in it is found like one that code names.
 */
function placeOfTool(
  task: Task,
  [named, ...former]: readonly [NamedTool, ...NamedTool[]],
  toolCallId: string | undefined,
  argsText: string,
): ChainPlace {
  const { tool: name, version } = named;
  const chain = chainPlace(task, [name, ...former.map((each) => each.tool)], toolCallId);
  const beginsAnew = (task.namespace !== "" || task.callScope !== undefined) && currentCall() === undefined;
  if (chain !== undefined && !beginsAnew) return chain;
  const nth = chain?.nth ?? countInAttempt(task, name, version, argsText);
  const placeOf = (n: number, { tool, version: at }: NamedTool): ChainPlace =>
    placeOfNamed(task, tool, at, argsText, chain?.previous ?? null, String(n));
  const namesOf = (n: number, tools: readonly NamedTool[]): string[] =>
    tools.map((each) => placeOf(n, each).previous);
  const all = chain && Array.from({ length: chain.calls }, (_, n) => n);
  const formerly = Array.from({ length: former.length === 0 ? 0 : nth + 1 }, (_, n) => namesOf(n, former));
  const ofMessage = all && (() => all.flatMap((n) => namesOf(n, [named, ...former])));
  return { ...placeOf(nth, named), ofMessage, formerly };
}

/**
 * The canonical JSON of a tool's arguments, or the refusal of a model's call that has none: the model is told, as it is of arguments that
 * don't fit the tool's schema.
 * @throws StratigraphError "SERIALIZATION" if code makes the call
 */
function canonicalOr(args: unknown, isAsked: boolean): string | RefusedCall {
  try {
    return canonical(args);
  } catch (error) {
    if (!isAsked || !StratigraphError.is(error, "SERIALIZATION")) throw error;
    return { kind: "refused", reason: `${error.message} Nothing ran.` };
  }
}

/** Longest name of a call, in UTF-16 units: each of its entries contains it. */
const longestId = 1000;

const argsOfNames = new WeakMap<object, Map<string, string>>();

/**
 * Refuses a name that was used with other arguments in the same attempt of the task, or within the same call: used in a loop, it would
 * return the first call's result each time.
 * @param isLost whether a message asks for several calls, and the config doesn't say for which of them this one is made
 */
function checkOnce(task: Task, id: string, tool: string, argsText: string, isLost: boolean): void {
  const within = withinOf(task);
  if (within === undefined) return;
  const known = argsOfNames.get(within) ?? new Map<string, string>();
  argsOfNames.set(within, known);
  const before = known.get(id);
  if (before !== undefined && isLost) throw unknownAsker(task.journal ?? "", tool);
  if (before !== undefined && before !== argsText) throw sameName(task.journal ?? "", { tool });
  known.set(id, argsText);
}

/** @throws InvalidOptionError */
function checkId(id: unknown): void {
  if (typeof id !== "string" || id === "")
    throw new InvalidOptionError(
      "call.id",
      id,
      "Name the call: it is found by its name after a crash or a retry. Calls with other arguments need other names, such as `charge ${order}`.",
    );
  if (id.length > longestId)
    throw new InvalidOptionError(
      "call.id",
      `${id.length} characters`,
      `Use at most ${longestId} characters: what a call is about goes into args.`,
    );
}

/** The value that code gets from a call. @throws CallDeniedError; the Command that the call threw */
async function valueOf(outcome: CallOutcome, task: Task, tool: string): Promise<unknown> {
  if (outcome.kind === "ran") return outcome.value;
  if (outcome.kind === "denied") throw new CallDeniedError(task.journal ?? "", tool, outcome.reason);
  const { result } = outcome;
  if (result.kind === "thrown") return await throwAgain(result, task, plainResult);
  return result.kind === "value" ? result.value : undefined;
}

/** @throws InvalidOptionError */
function checkTools(tools: readonly ToolLike[]): void {
  if (!Array.isArray(tools)) throw new InvalidOptionError("tools", tools, "Pass a list of tools.");
  for (const tool of tools) {
    const { name, invoke } = Object(tool) as Partial<ToolLike>;
    if (typeof invoke !== "function")
      throw new InvalidOptionError(
        "tools",
        tool,
        "Pass tools that have a name and invoke(), as tool() makes.",
      );
    checkToolName("tools", name);
    if (isWrapped(tool))
      throw new InvalidOptionError("tools", name, "It was wrapped already. Pass the tool itself.");
  }
}
