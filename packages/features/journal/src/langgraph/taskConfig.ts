// long file: all that is known of LangGraph's config, in one place
import { AsyncLocalStorageProviderSingleton } from "@langchain/core/singletons";
import { answeredQuestion, type Answers } from "../calls/questions.ts";
import type { Where } from "../log/entry.ts";
import { shared } from "../shared.ts";
import { hopsOf } from "./place.ts";

/**
 * What LangGraph passes to a task about the task itself. Only this file knows the names of LangGraph's fields; those that begin with
 * `__pregel_` aren't public, and are the same in LangGraph 1.4 to 1.7.
 */
interface TaskConfig {
  readonly configurable?: Readonly<Record<string, unknown>> | undefined;
  readonly metadata?: Readonly<Record<string, unknown>> | undefined;
  readonly durability?: unknown;
  readonly signal?: AbortSignal | undefined;
  readonly runId?: unknown;
  readonly toolCallId?: unknown;
  /** The model's call, in the config of the tool that it calls; set by LangChain's `invoke` of tools. */
  readonly toolCall?: { readonly id?: unknown } | undefined;
  readonly state?: unknown;
  readonly executionInfo?: { readonly nodeAttempt?: number } | undefined;
  /** Represents the run; from LangGraph 1.7 on. */
  readonly control?: unknown;
}

interface Scratchpad {
  readonly currentTaskInput?: unknown;
  /** Answers to the task's interrupts, in the order of the questions. */
  readonly resume?: unknown[];
  /** The answer of this run, if it doesn't name an interrupt. */
  nullResume?: unknown;
  /** Index of the interrupt that was asked last. */
  interruptCounter?: number;
}

/** A task of a graph, as a call in it sees it. */
export interface Task {
  readonly threadId: string | undefined;
  /** The thread whose journal is used. */
  readonly journal: string | undefined;
  readonly where: Where;
  /** The namespace of its subgraph without the ids of tasks; `""` in the root graph. */
  readonly namespace: string;
  /** Its own namespace, by which a Command addresses the task's graph; `""` outside a graph. */
  readonly ownNamespace: string;
  /** Names it among tasks with equal states. */
  readonly callScope: string | undefined;
  /** The checkpoint from which its step began, in the form of a config; undefined outside a graph. */
  readonly issuer:
    | {
        configurable: { thread_id: string; checkpoint_ns: string; checkpoint_id: string };
        control: unknown;
      }
    | undefined;
  readonly durability: "sync" | "async" | "exit" | undefined;
  readonly signal: AbortSignal | undefined;
  /** The task's input, or the state that a tool node was called with. */
  readonly input: unknown;
  /** The part of its graph's state that a node got; undefined in the functional API and outside a graph. */
  readonly nodeInput: () => unknown;
  /** The value of a channel of the graph's state: null while it is empty, undefined if there is no such channel. */
  readonly channel: (name: string) => unknown;
  /** The same object in one attempt of the task; undefined outside a graph. */
  readonly attempt: object | undefined;
  /** Whether a question can stop the graph, which goes on later. */
  readonly canInterrupt: boolean;
  /** The values that were given to questions of the journal. */
  readonly answers: Answers;
  /** Stops the task by an interrupt, even if there are answers. @throws LangGraph's interrupt */
  readonly stop: (interrupt: () => unknown) => never;
  /** Runs the work of a call with the config to pass to it, and counts the work's interrupts. */
  readonly during: <T>(work: (config: unknown) => T) => T;
  /** How many interrupts {@link during} counted. */
  readonly interrupts: () => number;
  /** Skips answers that belong to work that isn't done again. */
  readonly passOver: (times: number) => void;
  /** Ignore records of calls that may run again. */
  readonly fresh: boolean;
}

/** The task that writes something, for a log. */
export interface Writer {
  /** The name that LangChain's and deepagents' agents have. */
  readonly agent?: string | undefined;
  readonly thread?: string | undefined;
  readonly run?: string | undefined;
  /** The root graph's checkpoint from which the task's step began. */
  readonly checkpoint?: string | undefined;
  /** The namespace of its subgraph. */
  readonly namespace?: string | undefined;
  readonly node?: string | undefined;
  readonly task?: string | undefined;
  /** The id that the model gave to the tool call. */
  readonly toolCall?: string | undefined;
}

/** The task that runs now; empty outside a graph. */
export function writerIn(config?: unknown): Writer {
  const { configurable = {}, metadata = {}, runId, toolCallId, toolCall } = wholeConfig(config);
  const map = Object(configurable["checkpoint_map"]) as Record<string, unknown>;
  const namespace = text(configurable["checkpoint_ns"])?.split("|").slice(0, -1).join("|");
  const thread = configurable["thread_id"];
  const { currentTaskInput } = Object(configurable["__pregel_scratchpad"]) as Scratchpad;
  // Agents send each call to a task of its own. The config that a tool's code finds around it has lost it.
  const sent = (Object(currentTaskInput) as { lg_tool_call?: TaskConfig["toolCall"] }).lg_tool_call;
  return dropUndefined({
    agent: text(metadata["lc_agent_name"]),
    thread: Number.isSafeInteger(thread) ? String(thread) : text(thread),
    run: text(runId) ?? text(metadata["run_id"]),
    checkpoint: text(map[""]),
    namespace: namespace === "" ? undefined : namespace,
    node: text(metadata["langgraph_node"]),
    task: text(configurable["__pregel_task_id"]),
    toolCall: text(toolCallId) ?? text(toolCall?.id) ?? text(sent?.id),
  });
}

/** A config, completed from that of the running task, as LangChain does. A config that names a thread is complete. */
function wholeConfig(config: unknown): TaskConfig {
  const around = (AsyncLocalStorageProviderSingleton.getRunnableConfig() ?? {}) as TaskConfig;
  const given = (config ?? {}) as TaskConfig;
  if (given.configurable?.["thread_id"] !== undefined) return given;
  const configurable = { ...around.configurable, ...given.configurable };
  return { ...around, ...dropUndefined(given), configurable };
}

/** The index of a task's `Send`, from its path. In the functional API, the path names the calling task instead. */
function sendOf(path: unknown): number | undefined {
  const [kind, index] = Array.isArray(path) ? (path as unknown[]) : [];
  return kind === "__pregel_push" && typeof index === "number" ? index : undefined;
}

/** Reads the config of a task. */
export function taskOf(config: unknown): Task {
  const given = wholeConfig(config);
  const configurable = given.configurable ?? {};
  const metadata = given.metadata ?? {};
  const thread = configurable["thread_id"];
  // Savers accept a whole number as a thread's id, and use its digits.
  const threadId = Number.isSafeInteger(thread) ? String(thread) : text(thread);
  const ownNamespace = text(configurable["checkpoint_ns"]) ?? "";
  const segments = ownNamespace.split("|").filter((part) => part !== "");
  // The last segment names the task itself; the others its subgraph.
  const graph = segments.slice(0, -1);
  const map = Object(configurable["checkpoint_map"]) as Record<string, unknown>;
  const namespace = storedNamespace(graph, map);
  const task = text(configurable["__pregel_task_id"]);
  const issuer = text(map[namespace]);
  const scratchpad = configurable["__pregel_scratchpad"] as Scratchpad | undefined;
  const channel = (name: string): unknown => channelOf(configurable["__pregel_read"], name);
  // A `task()` gets what code passes, and an entrypoint has a channel that no graph with a state has.
  const isFunctional = (): boolean => namespace !== graph.join("|") || channel("__end__") !== undefined;
  const step = metadata["langgraph_step"];
  const where: Where = dropUndefined({
    checkpoint: text(map[""]),
    namespace: namespace === "" ? undefined : namespace,
    issuer: namespace === "" ? undefined : issuer,
    via: viaOf(namespace, map),
    task,
    node: text(metadata["langgraph_node"]),
    send: sendOf(metadata["langgraph_path"]),
    step: typeof step === "number" ? step : undefined,
    // As the run's checkpoints have it, by which it is deleted.
    run: text(metadata["run_id"]) ?? text(given.runId),
  });
  const { durability } = given;
  return {
    threadId,
    journal: text(configurable["journal"]) ?? threadId,
    where,
    namespace: graph.map((segment) => segment.split(":", 1)[0]).join("|"),
    ownNamespace,
    callScope:
      text(configurable["callScope"]) ??
      text((Object(scratchpad?.currentTaskInput) as { callScope?: unknown }).callScope),
    issuer:
      threadId === undefined || issuer === undefined
        ? undefined
        : {
            configurable: { thread_id: threadId, checkpoint_ns: namespace, checkpoint_id: issuer },
            control: given.control,
          },
    durability:
      durability === "sync" || durability === "async" || durability === "exit" ? durability : undefined,
    signal: given.signal,
    input: given.state ?? scratchpad?.currentTaskInput,
    nodeInput: () => (isFunctional() ? undefined : scratchpad?.currentTaskInput),
    channel,
    attempt:
      scratchpad === undefined ? undefined : attemptOf(scratchpad, given.executionInfo?.nodeAttempt ?? 1),
    canInterrupt: scratchpad !== undefined && Boolean(configurable["__pregel_checkpointer"]),
    ...interruptsOf(threadId, config ?? given, given, scratchpad),
    fresh: configurable["calls"] === "fresh",
  };
}

/**
 * The namespace in which the checkpoint of a task's step is stored. A `task()` of the functional API has its own namespace below that of
 * the node which calls it, but no checkpoints there: its map names the node's namespace.
 */
function storedNamespace(segments: readonly string[], map: Readonly<Record<string, unknown>>): string {
  const within = segments.slice(0, -1);
  const isTask = segments.length > 0 && map[segments.join("|")] === map[within.join("|")];
  return isTask ? storedNamespace(within, map) : segments.join("|");
}

/** The value of a channel, read by LangGraph's own function, which throws if there is no such channel. */
function channelOf(read: unknown, name: string): unknown {
  if (typeof read !== "function") return undefined;
  try {
    return (read as (name: string) => unknown)(name) ?? null;
  } catch {
    return undefined;
  }
}

/** The checkpoints of the graphs between the root graph and a subgraph, from which their steps began; undefined if there are none. */
function viaOf(namespace: string, map: Readonly<Record<string, unknown>>): string[] | undefined {
  const hops = hopsOf(namespace);
  if (hops.length < 2) return undefined;
  return hops.slice(1).map((_, n) => text(map[hops.slice(0, n + 1).join("|")]) ?? "");
}

/** The id that a model gave to the tool call. */
export function toolCallIdOf(input: unknown, config: unknown): string | undefined {
  const call = Object(input) as { type?: unknown; id?: unknown };
  return call.type === "tool_call" ? text(call.id) : text((Object(config) as TaskConfig).toolCallId);
}

/** The id of the model's call for which a tool that isn't the journal's own runs, as LangChain passes it. */
export function askedId(config: unknown): string | undefined {
  const { toolCallId, toolCall } = Object(config) as TaskConfig;
  return text(toolCallId) ?? text(toolCall?.id);
}

/** Answers to the journal's questions that no question took yet, by the answered run's thread and the question's name. */
const answers = shared("answers", () => new Map<string, unknown>());

/** Names an answer. An answer that was given to a run of another thread counts for no question of this one. */
function answerKey(threadId: string | undefined, question: string): string {
  return JSON.stringify([threadId, question]);
}

/** How many untaken answers are kept at most. */
const mostAnswers = 10_000;

/**
 * Takes the answers to the journal's questions from LangGraph's list for the task, which distinguishes answers only by their order. Left
 * there, they would go to other interrupts: those of a tool of the same task, or those of a run that is continued without an answer. They
 * may be meant for a task of a subgraph, so they are kept until a question takes them.
 */
function takeAnswers(threadId: string | undefined, scratchpad: Scratchpad): void {
  const { resume = [] } = scratchpad;
  const given = resume.filter((answer) => answeredQuestion(answer) !== undefined);
  for (const answer of given) resume.splice(resume.indexOf(answer), 1);
  if (answeredQuestion(scratchpad.nullResume) !== undefined) {
    given.push(scratchpad.nullResume);
    delete scratchpad.nullResume;
  }
  for (const answer of given) answers.set(answerKey(threadId, answeredQuestion(answer)!), answer);
  for (const key of answers.keys()) {
    if (answers.size <= mostAnswers) break;
    answers.delete(key);
  }
}

/** An answer that LangGraph gives to another task of the run, which asked for this one, too. */
function answerOf({ configurable }: TaskConfig, question: string): unknown {
  const byInterrupt = Object(configurable?.["__pregel_resume_map"]) as Record<string, unknown>;
  return Object.values(byInterrupt).find((answer) => answeredQuestion(answer) === question);
}

type TaskInterrupts = Pick<Task, "answers" | "stop" | "during" | "interrupts" | "passOver">;

function interruptsOf(
  threadId: string | undefined,
  config: unknown,
  given: TaskConfig,
  own: Scratchpad | undefined,
): TaskInterrupts {
  const scratchpad = own && countedAround(own);
  if (scratchpad !== undefined) takeAnswers(threadId, scratchpad);
  const within = (other: Scratchpad): TaskConfig => ({
    ...given,
    configurable: { ...given.configurable, __pregel_scratchpad: other },
  });
  let count = 0;
  return {
    answers: {
      take: (id, isForOthers) => {
        const key = answerKey(threadId, id);
        // The kept one may be an earlier one, which was refused.
        const answer = answerOf(given, id) ?? answers.get(key);
        if (!isForOthers) answers.delete(key);
        return answer;
      },
      unnamed: scratchpad?.nullResume ?? scratchpad?.resume?.at(-1),
    },
    stop: (interrupt) => {
      const resume = scratchpad?.resume ?? [];
      // LangGraph's interrupt() stops the graph only if it finds no answer, for whatever question.
      runWithin(within({ resume, interruptCounter: resume.length - 1 }), interrupt);
      throw new Error("LangGraph's interrupt() found an answer where there is none.");
    },
    during: (work) => {
      if (scratchpad === undefined) return work(config);
      const counting = new Proxy(scratchpad, {
        set: (target, key, value) => {
          // Work that isn't done again within this work skips several interrupts at once.
          if (key === "interruptCounter") count += (value as number) - (target.interruptCounter ?? -1);
          return Reflect.set(target, key, value);
        },
      });
      originals.set(counting, originals.get(scratchpad) ?? scratchpad);
      const counted = within(counting);
      return runWithin(counted, () => work(counted));
    },
    interrupts: () => count,
    passOver: (times) => {
      if (scratchpad !== undefined) scratchpad.interruptCounter = (scratchpad.interruptCounter ?? -1) + times;
    },
  };
}

/** The original scratchpads of those that count interrupts. */
const originals = new WeakMap<Scratchpad, Scratchpad>();

/** A task's scratchpad as the surrounding call counts on it. The code may use the config that the task had before that call. */
function countedAround(scratchpad: Scratchpad): Scratchpad {
  const around = AsyncLocalStorageProviderSingleton.getRunnableConfig() as TaskConfig | undefined;
  const counting = around?.configurable?.["__pregel_scratchpad"] as Scratchpad | undefined;
  const original = counting && originals.get(counting);
  return original !== undefined && original === (originals.get(scratchpad) ?? scratchpad)
    ? counting!
    : scratchpad;
}

/** Runs code that sees a config as that of the running task. */
function runWithin<T>(config: TaskConfig, work: () => T): T {
  return AsyncLocalStorageProviderSingleton.runWithConfig(config, work) as T;
}

const attempts = new WeakMap<object, Map<number, object>>();

/** A retry of a node has the same scratchpad, but counts its calls from the start. */
function attemptOf(scratchpad: object, attempt: number): object {
  const known = attempts.get(scratchpad) ?? new Map<number, object>();
  attempts.set(scratchpad, known);
  const object = known.get(attempt) ?? {};
  known.set(attempt, object);
  return object;
}

function text(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

function dropUndefined<T extends object>(value: T): T {
  return Object.fromEntries(Object.entries(value).filter(([, field]) => field !== undefined)) as T;
}
