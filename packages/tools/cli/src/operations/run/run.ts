import {
  CheckpointConflictError,
  InvalidOptionError,
  NotFoundError,
  StratigraphError,
  type TierSaver,
} from "@stratigraph/core";
import { waitMsOf } from "@stratigraph/core/internal";
import type { Address } from "@stratigraph/core/tier";
import { z } from "zod";
import type { Context } from "../table/context.ts";
import { resolvePoint, type AddressInput } from "../table/address.ts";
import { duration, fields, flag } from "../table/fields.ts";
import { operation } from "../table/operation.ts";
import { givenValue } from "../values/edit.ts";
import { Redaction } from "../values/redaction.ts";
import { execute, type Ended } from "./execute.ts";
import { answersOf, interruptsOf } from "./interrupts.ts";
import { alone } from "./alone.ts";
import { LiveEvents } from "./liveEvents.ts";
import { rehearsal } from "./rehearse.ts";
import type { RunnableGraph, StateLike } from "./runnableGraph.ts";
import { renderRun, runOutput, type RunOutput } from "./runOutput.ts";
import { mostListed, writtenSince } from "./written.ts";

/** Longest message of an error in the output, in characters. */
const longestMessage = 4000;

const runInput = z.object({
  at: fields.at.describe(
    "A thread, or the checkpoint that is its head: the run is refused if that isn't the head any more. With an input, name the head: the same call, sent again, then doesn't run again.",
  ),
  graph: z.string().optional().describe("The graph of the config. Default: the only one there is."),
  input: z
    .string()
    .meta({ fromFile: true })
    .optional()
    .describe("What a new run begins with, as JSON of the serde. Default: goes on with what is due."),
  resume: z
    .string()
    .meta({ fromFile: true })
    .optional()
    .describe(
      "The answer to the interrupt that waits, as JSON. If several wait: an object of answers by their ids.",
    ),
  unchecked: flag("Take the answer even if it doesn't fit the question's schema."),
  steps: z.coerce
    .number()
    .int()
    .min(1)
    .max(1000)
    .optional()
    .describe("Pause after so many steps. Default: runs to the end."),
  create: flag("Also run on a thread that doesn't exist yet."),
  timeout: duration("Pause after this time, in the middle of a step. (default: 10m)").optional(),
  recursionLimit: z.coerce
    .number()
    .int()
    .min(1)
    .max(10_000)
    .optional()
    .describe("LangGraph's recursionLimit: pause after so many steps. Default: the graph's own."),
  checkpoint: fields.checkpoint,
  dryRun: flag("Only tell which nodes would run next. None of them runs."),
});

/** Runs a graph on a thread. */
export const run = operation({
  name: "run",
  group: "change",
  effect: "write",
  summary:
    "Run a graph of the config on a thread: continue from its head, give it an input, or answer its question.",
  args: ["at"],
  examples: [
    "stratigraph run ada --dry-run",
    "stratigraph run ada --steps 1",
    `stratigraph run trip --resume '"…"'`,
    `stratigraph run ada --input '{"messages":[{"role":"user","content":"Hello"}]}'`,
  ],
  input: runInput,
  output: runOutput,
  async run(input, context) {
    if (input.input !== undefined && input.resume !== undefined)
      throw new InvalidOptionError("resume", "an answer beside an input", "Pass only one of them.");
    const [graph, saver] = [await context.graph(input.graph), await context.saver()];
    const work = async (signal: AbortSignal) => await ran(input, { context, graph, saver, signal });
    const { resume, dryRun, at, checkpoint, create } = input;
    if (resume === undefined || dryRun) return await work(context.signal);
    const { threadId = at } = (await headOf(saver, { at, checkpoint }, create)) ?? {};
    return await alone(saver.tier, threadId, context.signal, work);
  },
  render: renderRun,
  found: ({ outcome, why }) =>
    outcome === "failed" || outcome === "interrupted" || (outcome === "paused" && why !== "steps"),
});

interface Running {
  readonly context: Context;
  readonly graph: RunnableGraph;
  readonly saver: TierSaver;
  readonly signal: AbortSignal;
}

async function ran(
  { at, checkpoint, create, input, resume, unchecked, dryRun, ...limits }: z.output<typeof runInput>,
  { context, graph, saver, signal }: Running,
): Promise<RunOutput> {
  const point = await headOf(saver, { at, checkpoint }, create);
  if (point === undefined && input === undefined)
    throw new InvalidOptionError("input", "nothing", "A new thread begins with an `input`.");
  const [threadId, before] = [point?.threadId ?? at, point?.checkpointId];
  const given = await givenInput(graph, saver, { threadId, input, resume, unchecked });
  const redaction = new Redaction(context.redact);
  const common = async (state: StateLike) => ({
    thread: threadId,
    ...(before === undefined ? {} : { before }),
    next: [...new Set(state.next)],
    interrupts: await interruptsOf(saver, state, redaction),
  });
  if (dryRun) {
    const told = await common(await due(graph, saver, point, input === undefined ? undefined : given));
    const head = before === undefined ? {} : { head: before };
    return { ...told, ...head, outcome: "planned" as const, checkpoints: [], nodes: [], durationMs: 0 };
  }
  const live = new LiveEvents(saver, context);
  const { steps, recursionLimit, timeout = "10m" } = limits;
  const [timeoutMs, started] = [waitMsOf("timeout", timeout), performance.now()];
  const how = { steps, recursionLimit, timeoutMs, signal, live };
  const ended = await execute({ graph, saver, threadId, input: given, ...how });
  live.end(ended.state.tasks);
  const { head, checkpoints } = await writtenSince(saver, threadId, before, live.checkpoints);
  const told = await common(ended.state);
  return {
    ...told,
    outcome: outcomeOf(ended, told.interrupts.length),
    ...(ended.pause === undefined ? {} : { why: ended.pause }),
    ...(ended.error === undefined ? {} : { error: shownError(ended.error, redaction) }),
    ...(head === undefined ? {} : { head }),
    checkpoints: checkpoints.toReversed(),
    nodes: live.nodes.slice(0, mostListed),
    durationMs: Math.round(performance.now() - started),
  };
}

/**
 * The head that a run begins at; undefined for a new thread.
 * @throws CheckpointConflictError if another checkpoint than the head was named; NotFoundError
 */
async function headOf(saver: TierSaver, given: AddressInput, create: boolean): Promise<Address | undefined> {
  let point: Address;
  try {
    point = await resolvePoint(saver, given);
  } catch (error) {
    if (!StratigraphError.is(error, "NOT_FOUND")) throw error;
    if (create) return undefined;
    throw new NotFoundError(`${error.message} To begin a new thread, pass \`create\`.`, { ...error.data });
  }
  const { threadId, namespace, checkpointId } = point;
  const { head } = await saver.tier.peek({ threadId, namespace });
  if (head === checkpointId) return point;
  throw new CheckpointConflictError(
    { threadId, namespace, checkpointId, head: head ?? "", expected: [checkpointId] },
    `Nothing was run: the head of thread ${JSON.stringify(threadId)} is ${head ?? "missing"}, not ${checkpointId}. ` +
      `Fork the thread at that checkpoint, and run the fork.`,
  );
}

interface Given {
  readonly threadId: string;
  readonly input: string | undefined;
  readonly resume: string | undefined;
  readonly unchecked: boolean;
}

/** The input of the graph: a new input, an answer, or null to go on. */
async function givenInput(
  graph: RunnableGraph,
  saver: TierSaver,
  { threadId, input, resume, unchecked }: Given,
): Promise<unknown> {
  if (input !== undefined) return noCommand(await givenValue(saver, "input", input));
  if (resume === undefined) return null;
  const state = await graph.getState({ configurable: { thread_id: threadId } });
  return await answersOf(saver, state, { threadId, resume, unchecked });
}

/** LangGraph would take a Command for an answer, or for leave to jump over the question. @throws InvalidOptionError */
function noCommand(input: unknown): unknown {
  if ((Object(input) as { readonly lg_name?: unknown }).lg_name !== "Command") return input;
  throw new InvalidOptionError(
    "input",
    "a Command",
    "Pass an input of the graph. An answer is given by `resume`.",
  );
}

/** The state before the next step. With an input, this is the state of a copy in memory that was given the input. */
async function due(
  graph: RunnableGraph,
  saver: TierSaver,
  point: Address | undefined,
  input: unknown,
): Promise<StateLike> {
  if (input === undefined && point !== undefined)
    return await graph.getState({ configurable: { thread_id: point.threadId } });
  const copy = await rehearsal(graph, saver, point, true);
  const config = { configurable: { thread_id: copy.threadId } };
  const stream = await copy.graph.stream(input, { ...config, interruptBefore: "*", durability: "sync" });
  const parts = stream[Symbol.asyncIterator]();
  while ((await parts.next()).done !== true);
  return await copy.graph.getState(config);
}

function outcomeOf({ error, pause }: Ended, interrupts: number): RunOutput["outcome"] {
  if (error !== undefined) return "failed";
  if (pause !== undefined) return "paused";
  return interrupts > 0 ? "interrupted" : "done";
}

function shownError(error: unknown, redaction: Redaction): NonNullable<RunOutput["error"]> {
  const { name, message } = error instanceof Error ? error : { name: "Error", message: String(error) };
  return {
    name,
    ...(redaction.isActive ? {} : { message: message.slice(0, longestMessage) }),
    ...(StratigraphError.is(error) ? { code: error.code } : {}),
  };
}
