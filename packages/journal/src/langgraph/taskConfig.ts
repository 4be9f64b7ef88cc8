import { AsyncLocalStorageProviderSingleton } from "@langchain/core/singletons";
import type { Where } from "../log/entry.ts";

/**
 * What LangGraph tells a task about itself. This is the one file that knows the names of LangGraph's fields; those that begin with
 * `__pregel_` aren't public, and are the same in LangGraph 1.4 to 1.7.
 */
interface TaskConfig {
  readonly configurable?: Readonly<Record<string, unknown>> | undefined;
  readonly metadata?: Readonly<Record<string, unknown>> | undefined;
  readonly durability?: unknown;
  readonly signal?: AbortSignal | undefined;
  readonly runId?: unknown;
  readonly toolCallId?: unknown;
  readonly state?: unknown;
  readonly executionInfo?: { readonly nodeAttempt?: number } | undefined;
}

interface Scratchpad {
  readonly currentTaskInput?: unknown;
  readonly resume?: readonly unknown[];
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
  /** Names it among tasks with equal states. */
  readonly callScope: string | undefined;
  /** The checkpoint from which its step began, as a config names it; undefined outside a graph. */
  readonly issuer:
    | { configurable: { thread_id: string; checkpoint_ns: string; checkpoint_id: string } }
    | undefined;
  readonly durability: "sync" | "async" | "exit" | undefined;
  readonly signal: AbortSignal | undefined;
  /** The task's input. */
  readonly input: unknown;
  /** The same object in one attempt of the task; undefined outside a graph. */
  readonly attempt: object | undefined;
  /** How many answers to interrupts are there that weren't asked for yet. */
  readonly answersLeft: () => number;
  /** Ignore records of calls that may run again. */
  readonly fresh: boolean;
}

/** Reads the config of a task. Without one: that of the task under way, if there is one. */
export function taskOf(config: unknown): Task {
  const given = (config ?? AsyncLocalStorageProviderSingleton.getRunnableConfig() ?? {}) as TaskConfig;
  const configurable = given.configurable ?? {};
  const metadata = given.metadata ?? {};
  const threadId = text(configurable["thread_id"]);
  const segments = (text(configurable["checkpoint_ns"]) ?? "").split("|").filter((part) => part !== "");
  // The last segment names the task itself; the others its subgraph.
  const graph = segments.slice(0, -1);
  const namespace = graph.join("|");
  const map = Object(configurable["checkpoint_map"]) as Record<string, unknown>;
  const task = text(configurable["__pregel_task_id"]);
  const issuer = text(map[namespace]);
  const scratchpad = configurable["__pregel_scratchpad"] as Scratchpad | undefined;
  const step = metadata["langgraph_step"];
  const where: Where = dropUndefined({
    checkpoint: text(map[""]),
    namespace: namespace === "" ? undefined : namespace,
    issuer: namespace === "" ? undefined : issuer,
    task,
    node: text(metadata["langgraph_node"]),
    step: typeof step === "number" ? step : undefined,
    run: text(given.runId) ?? text(metadata["run_id"]),
  });
  const { durability } = given;
  return {
    threadId,
    journal: text(configurable["journal"]) ?? threadId,
    where,
    namespace: graph.map((segment) => segment.split(":", 1)[0]).join("|"),
    callScope:
      text(configurable["callScope"]) ??
      text((Object(scratchpad?.currentTaskInput) as { callScope?: unknown }).callScope),
    issuer:
      threadId === undefined || issuer === undefined
        ? undefined
        : { configurable: { thread_id: threadId, checkpoint_ns: namespace, checkpoint_id: issuer } },
    durability:
      durability === "sync" || durability === "async" || durability === "exit" ? durability : undefined,
    signal: given.signal,
    input: given.state ?? scratchpad?.currentTaskInput,
    attempt:
      scratchpad === undefined ? undefined : attemptOf(scratchpad, given.executionInfo?.nodeAttempt ?? 1),
    answersLeft: () => (scratchpad?.resume?.length ?? 0) - ((scratchpad?.interruptCounter ?? -1) + 1),
    fresh: configurable["calls"] === "fresh",
  };
}

/** The id that a model gave the call that a tool was called for. */
export function toolCallIdOf(input: unknown, config: unknown): string | undefined {
  const call = Object(input) as { type?: unknown; id?: unknown };
  return call.type === "tool_call" ? text(call.id) : text((Object(config) as TaskConfig).toolCallId);
}

const attempts = new WeakMap<object, Map<number, object>>();

/** A retry of a node has the same scratchpad, and counts its calls anew. */
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
