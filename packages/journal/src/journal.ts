import { checkOptions, InvalidOptionError, validId, type TierSaver } from "@stratigraph/core";
import { CallRunner, type CallOutcome } from "./calls/callRunner.ts";
import { currentCall, type CurrentCall } from "./calls/currentCall.ts";
import type { CallRequest } from "./calls/resolve.ts";
import { Session } from "./calls/session.ts";
import { CallDeniedError } from "./errors.ts";
import { canonical } from "./identity/canonical.ts";
import { fingerprintOf } from "./identity/fingerprint.ts";
import {
  chainAfter,
  chainKey,
  chainPlace,
  placeInTask,
  type ChainPlace,
  type ChainState,
} from "./langgraph/chain.ts";
import { ChainChannel } from "./langgraph/chainChannel.ts";
import { siteOf } from "./langgraph/site.ts";
import { taskOf, type Task } from "./langgraph/taskConfig.ts";
import { wrapTool, type ToolLike } from "./langgraph/wrapTool.ts";
import { JournalLog } from "./log/journalLog.ts";
import { Sealing } from "./log/sealing.ts";
import type { CallOptions, JournalOptions } from "./options.ts";

/** A call that plain code makes. */
export interface PlainCall extends CallOptions {
  /** Names what is called. */
  readonly tool: string;
  /** JSON by which the call is recognised, together with the task's input. */
  readonly args: unknown;
}

/** What the function of a plain call is given. */
export interface PlainCallContext extends CurrentCall {
  /** Frozen. */
  readonly args: unknown;
  readonly signal: AbortSignal | undefined;
}

/** How many threads a journal keeps the state of. */
const rememberedThreads = 1000;

/**
 * A journal of the calls that graphs make: each happens once, its result is kept with the thread, and what happened can be proved.
 * Made by {@link createJournal}.
 */
export class Journal {
  /** The graphs' checkpointer, in whose storage the journal is. */
  readonly checkpointer: TierSaver;
  readonly #options: JournalOptions;
  readonly #sealing: Sealing;
  readonly #session: Session;
  readonly #runners = new Map<string, { readonly log: JournalLog; readonly runner: CallRunner }>();
  readonly #versions = new Map<string, string | null>();

  constructor(checkpointer: TierSaver, options: JournalOptions) {
    this.checkpointer = checkpointer;
    this.#options = options;
    this.#sealing = new Sealing(options.sign);
    this.#session = new Session(checkpointer.tier);
  }

  /** Channels for the state of a StateGraph: `Annotation.Root({ ...MessagesAnnotation.spec, ...journal.channel })`. */
  readonly channel: { readonly [chainKey]: () => ChainChannel } = { [chainKey]: () => new ChainChannel() };

  /**
   * What a node that asked a model returns along with the message, so that its calls have a place:
   * `return { messages: [message], ...journal.next(state, message) }`.
   */
  next(state: unknown, message: unknown, config?: unknown): { readonly [chainKey]?: ChainState } {
    const chain = chainAfter(state, message as Parameters<typeof chainAfter>[1], taskOf(config), (tool) =>
      this.#versionOf(tool),
    );
    return chain === undefined ? {} : { [chainKey]: chain };
  }

  /**
   * Tools whose calls go through the journal, for `createAgent`, `ToolNode` and `bindTools`. Each keeps its class, name and schema.
   * @param options how calls of single tools are treated, by the tools' names
   * @throws InvalidOptionError
   */
  tools<T extends ToolLike>(tools: readonly T[], options: Readonly<Record<string, CallOptions>> = {}): T[] {
    for (const name of Object.keys(options)) {
      const names = tools.map((tool) => tool.name);
      if (!names.includes(name))
        throw new InvalidOptionError(
          `tools.${name}`,
          "options",
          `There is no such tool; there are ${names.join(", ") || "none"}.`,
        );
      checkCallOptions(`tools.${name}`, options[name]!);
    }
    return tools.map((tool) => {
      const own = { effects: effectsOf(tool), ...options[tool.name] };
      this.#versions.set(tool.name, own.version ?? null);
      return wrapTool(tool, ({ tool: name, args, toolCallId }, config, work) => {
        const task = taskOf(config);
        const version = own.version ?? null;
        const argsText = canonical(args);
        const place =
          chainPlace(task, toolCallId, (called) => this.#versionOf(called)) ??
          placeInTask(task, name, version, argsText);
        const planned = { tool: name, version, argsText, place, toolCallId };
        return this.#call(task, config, planned, own, (frozen) => work(frozen));
      });
    });
  }

  /**
   * Runs a function once, from a node or a task of a graph.
   * @param config of the node or task; its thread's journal is used
   * @returns what the function returned, or what it returned when the same call was made before
   * @throws what the function throws; CallDeniedError, AmbiguousOutcomeError; StratigraphError "DUPLICATE_CALL", "NOT_DURABLE",
   * "RESULT_NOT_KEPT", "SERIALIZATION"
   */
  async run<R>(
    config: unknown,
    call: PlainCall,
    work: (context: PlainCallContext) => R | Promise<R>,
  ): Promise<R> {
    const { tool, args, ...options } = call;
    checkCallOptions("call", options);
    const task = taskOf(config);
    const version = options.version ?? null;
    const argsText = canonical(args);
    const planned = {
      tool,
      version,
      argsText,
      place: placeInTask(task, tool, version, argsText),
      toolCallId: undefined,
    };
    const outcome = await this.#call(task, config, planned, options, (frozen) =>
      work({ ...currentCall()!, args: frozen, signal: task.signal }),
    );
    if (outcome.kind === "ran") return outcome.value as R;
    if (outcome.kind === "denied") throw new CallDeniedError(task.journal!, tool, outcome.reason);
    return (outcome.result.kind === "value" ? outcome.result.value : undefined) as R;
  }

  /** Writes what waits to be written, and says that this process makes no more calls. The checkpointer stays open. */
  async end(): Promise<void> {
    await Promise.all([...this.#runners.values()].map(({ log }) => log.flush()));
    await this.#session.end();
  }

  /** As {@link end}, for `await using journal = createJournal(checkpointer)`. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.end();
  }

  async #call(
    task: Task,
    config: unknown,
    planned: {
      tool: string;
      version: string | null;
      argsText: string;
      place: ChainPlace;
      toolCallId: string | undefined;
    },
    options: CallOptions,
    work: (args: unknown) => unknown,
  ): Promise<CallOutcome> {
    const threadId = validId("configurable.thread_id", task.journal);
    const { log, runner } = this.#of(threadId);
    const { tool, version, argsText, place, toolCallId } = planned;
    const args: unknown = JSON.parse(argsText);
    const { previous, nth } = place;
    const where = {
      ...task.where,
      ...(toolCallId === undefined ? {} : { toolCallId }),
      ...(task.threadId === undefined || task.threadId === log.threadId ? {} : { thread: task.threadId }),
    };
    const request: CallRequest = {
      call: fingerprintOf({ tool, version, args, previous, nth }),
      tool,
      ...(version === null ? {} : { version }),
      effects: options.effects ?? "once",
      previous,
      nth,
      argsHash: this.#sealing.hash(argsText),
      where,
      ...(task.fresh ? { fresh: true } : {}),
    };
    const { author } = this.#options;
    const site = await siteOf(
      this.checkpointer,
      task,
      typeof author === "function" ? author(config) : author,
    );
    return await runner.call({ request, argsText, site, options }, () => work(args));
  }

  #of(threadId: string): { log: JournalLog; runner: CallRunner } {
    const known = this.#runners.get(threadId);
    if (known !== undefined) return known;
    const log = new JournalLog(threadId, this.checkpointer, this.#sealing, this.#session);
    const { policy, policyTimeoutMs = 5000, waitMs = 600_000 } = this.#options;
    const runner = new CallRunner({
      saver: this.checkpointer,
      log,
      session: this.#session,
      sealing: this.#sealing,
      policy,
      policyTimeoutMs,
      waitMs,
    });
    const made = { log, runner };
    this.#runners.set(threadId, made);
    this.#trim();
    return made;
  }

  /** Forgets the state of the threads that were first used longest ago and make no calls now. */
  #trim(): void {
    for (const [threadId, { log, runner }] of this.#runners) {
      if (this.#runners.size <= rememberedThreads) return;
      if (!runner.isIdle || log.hasNotes) continue;
      this.#runners.delete(threadId);
    }
  }

  #versionOf(tool: string): string | null {
    return this.#versions.get(tool) ?? null;
  }
}

/**
 * Makes a journal of the calls of graphs.
 * @param checkpointer the graphs' own: any saver of Stratigraph
 * @throws InvalidOptionError
 */
export function createJournal(checkpointer: TierSaver, options: JournalOptions = {}): Journal {
  if (typeof (Object(checkpointer) as Partial<TierSaver>).coder?.encode !== "function")
    throw new InvalidOptionError(
      "checkpointer",
      checkpointer,
      "Pass the graph's checkpointer, which has to be a saver of Stratigraph.",
    );
  checkOptions<JournalOptions>("createJournal", options, {
    policy: true,
    policyTimeoutMs: true,
    sign: true,
    author: true,
    waitMs: true,
  });
  return new Journal(checkpointer, options);
}

/** @throws InvalidOptionError */
function checkCallOptions(where: string, options: CallOptions): void {
  checkOptions<CallOptions>(where, options, {
    effects: true,
    version: true,
    certain: true,
    reconcile: true,
    compensate: true,
  });
  const { effects } = options;
  if (effects !== undefined && effects !== "none" && effects !== "idempotent" && effects !== "once")
    throw new InvalidOptionError(`${where}.effects`, effects, 'Use "none", "idempotent" or "once".');
}

/** What an MCP tool's annotations say of its effects. */
function effectsOf(tool: ToolLike): CallOptions["effects"] {
  const { metadata } = tool as {
    metadata?: { annotations?: { readOnlyHint?: unknown; idempotentHint?: unknown } };
  };
  if (metadata?.annotations?.readOnlyHint === true) return "none";
  return undefined;
}
