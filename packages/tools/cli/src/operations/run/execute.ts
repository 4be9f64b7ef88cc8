import { StratigraphError, type TierSaver } from "@stratigraph/core";
import type { LiveEvents } from "./liveEvents.ts";
import { notWaiting } from "./interrupts.ts";
import { openInterrupts } from "./openInterrupts.ts";
import { ResumeCommand, type RunnableGraph, type StateLike } from "./runnableGraph.ts";

/** Why a run paused although something is due. */
export type Pause = "steps" | "breakpoint" | "stopped" | "timeout" | "limit";

/** How a run ended. What it did is stored in any case. */
export interface Ended {
  readonly state: StateLike;
  readonly pause: Pause | undefined;
  readonly error: unknown;
}

/** What is to be run. */
export interface Execution {
  readonly graph: RunnableGraph;
  readonly saver: TierSaver;
  readonly threadId: string;
  /** Input, an answer, or null to go on. */
  readonly input: unknown;
  /** How many steps at most. */
  readonly steps: number | undefined;
  readonly recursionLimit: number | undefined;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  readonly live: LiveEvents;
}

/**
 * Runs a graph at the head of a thread, and says how it ended. Each checkpoint is stored before the next step begins. So a stopped
 * run can go on from there, and a run whose thread somebody else moved is refused.
 * @throws StratigraphError of the storage, and "NOT_WAITING"; errors of nodes are in the result
 */
export async function execute(execution: Execution): Promise<Ended> {
  const { graph, threadId, steps, signal, timeoutMs, live } = execution;
  const config = { configurable: { thread_id: threadId } };
  const timeout = AbortSignal.timeout(timeoutMs);
  const ends = AbortSignal.any([signal, timeout]);
  let { input } = execution;
  for (let left = steps ?? 1; ; left -= 1) {
    const error = await failureOf(() => pass({ ...execution, input, signal: ends }));
    const state = await graph.getState(config);
    // An error that is thrown while the run is being stopped only shows that it was stopped.
    if (ends.aborted && state.next.length > 0)
      return { state, pause: signal.aborted ? "stopped" : "timeout", error: undefined };
    if (error !== undefined && nameOf(error) === "GraphRecursionError")
      return { state, pause: "limit", error: undefined };
    if (error !== undefined && nameOf(error) === "UnknownInterruptError")
      throw notWaiting(
        threadId,
        (await openInterrupts(execution.saver, state)).map(({ id }) => id),
        (error as { readonly interruptIds?: readonly string[] }).interruptIds,
      );
    if (error !== undefined && isOfStorage(error, state, live)) throw error;
    const waits = state.tasks.some(
      ({ name, interrupts, result }) =>
        interrupts.length > 0 && result === undefined && state.next.includes(name),
    );
    if (error !== undefined || state.next.length === 0 || waits) return { state, pause: undefined, error };
    if (steps === undefined) return { state, pause: "breakpoint", error };
    if (left === 1) return { state, pause: "steps", error };
    input = null;
  }
}

async function pass({
  graph,
  threadId,
  input,
  steps,
  recursionLimit,
  signal,
  live,
}: Execution): Promise<void> {
  const stream = await graph.stream(input, {
    // Somebody may have answered a moment ago: LangGraph 1.7 then refuses before anything is written. Older versions don't know the key.
    configurable: {
      thread_id: threadId,
      ...(input instanceof ResumeCommand ? { __pregel_strict_resume: true } : {}),
    },
    streamMode: ["tasks", "messages", "custom", "checkpoints"],
    subgraphs: true,
    durability: "sync",
    signal,
    ...(recursionLimit === undefined ? {} : { recursionLimit }),
    ...(steps === undefined ? {} : { interruptAfter: "*" }),
  });
  for await (const part of stream) await live.take(part);
}

async function failureOf(run: () => Promise<void>): Promise<unknown> {
  try {
    await run();
    return undefined;
  } catch (error) {
    return error ?? new Error("A node threw nothing.");
  }
}

/** Whether an error is the storage's own, and not one that a node threw. */
function isOfStorage(error: unknown, { tasks }: StateLike, { nodes }: LiveEvents): boolean {
  if (StratigraphError.is(error, "CHECKPOINT_CONFLICT")) return true;
  const failed =
    nodes.some(({ state }) => state === "failed") || tasks.some((task) => task.error !== undefined);
  return StratigraphError.is(error) && !failed;
}

function nameOf(error: unknown): string {
  return error instanceof Error ? error.name : "";
}
