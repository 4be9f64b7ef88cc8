import { ERROR } from "@langchain/langgraph-checkpoint";
import { InvalidOptionError, type TierSaver } from "@stratigraph/core";
import { ancestorsFrom, refusePart, taskStates } from "@stratigraph/core/internal";
import { checkPoint } from "./checkPoint.ts";
import { checkSaver, kindOfValue } from "./checkSaver.ts";
import { isMessage, jsonValue } from "./plainValue.ts";
import { readPoint, type Point, type ReadPoint } from "./readPoint.ts";
import { readValues } from "./readValues.ts";
import { readReflog } from "./reflog.ts";

/** Tokens as models report them (`usage_metadata`). */
export interface Tokens {
  readonly input: number;
  readonly output: number;
  readonly total: number;
}

/** What a thread has done since its beginning, since it was forked, or since others were forked from it. It is plain JSON. */
export interface ThreadSummary {
  readonly threadId: string;
  readonly checkpointId: string;
  /**
   * The checkpoint where counting starts: where it was forked, or where one that it is compared with was forked from it. Undefined
   * if counting starts at the thread's beginning. Numbers of threads that are counted from different ones can't be compared.
   */
  readonly since: string | undefined;
  /** "unfinished" means that a step is due and there is no interrupt or error that stopped it. */
  readonly outcome: "finished" | "interrupted" | "failed" | "unfinished";
  /** How many steps its runs took (checkpoints whose `metadata.source` is "loop"). */
  readonly steps: number;
  /** How often each tool was called. */
  readonly toolCalls: Readonly<Record<string, number>>;
  readonly tokens: Tokens;
  /** Time from the first counted checkpoint to the last, in milliseconds. */
  readonly durationMs: number;
  /** The text of the last message, or of the error. */
  readonly last: string | undefined;
}

/** The summaries of several threads. */
export interface Comparison {
  readonly threads: readonly ThreadSummary[];
}

/**
 * Summarises threads for comparison, such as forks of one checkpoint that tried different prompts or strategies. Of a fork, only what
 * it did since it was forked is counted; and of the thread that it left, only what that did since.
 * @throws NotFoundError, EvictedError, CorruptionError, InvalidOptionError, InvalidAddressError
 */
export async function compare(saver: TierSaver, points: readonly (string | Point)[]): Promise<Comparison> {
  checkSaver("compare", saver);
  if (!Array.isArray(points))
    throw new InvalidOptionError("points", kindOfValue(points), "Pass a list of thread ids or points.");
  const wanted = points.map((point, n) => checkPoint(`points[${n}]`, point));
  const paths: Path[] = [];
  for (const point of wanted) paths.push(await pathOf(saver, point));
  const threads: ThreadSummary[] = [];
  for (const path of paths) threads.push(await summary(saver, path, sinceOf(path, paths)));
  return { threads };
}

/** How a thread came to a checkpoint. */
interface Path {
  readonly read: ReadPoint;
  /** The checkpoint and its ancestors, newest first: down to where the thread was forked, or to its beginning. */
  readonly records: readonly ReadPoint["stored"]["record"][];
  /** Where it was forked: the last of `records`. */
  readonly origin: string | undefined;
}

async function pathOf(saver: TierSaver, point: Point): Promise<Path> {
  const read = await readPoint(saver, point);
  const [from] = (await readReflog(saver, read.at.threadId)).lineage;
  const found = new Map<string, { record: ReadPoint["stored"]["record"] }>();
  for await (const { record } of saver.tier.list({ ...read.at, checkpointId: undefined, recordsOnly: true }))
    found.set(record.checkpointId, { record });
  const records = [];
  for (const record of ancestorsFrom(found, read.at.checkpointId)) {
    records.push(record);
    if (record.checkpointId === from?.checkpointId) return { read, records, origin: from.checkpointId };
  }
  // The path ends here, or what came before is elsewhere.
  if (records.at(-1)?.parentId !== undefined) await refusePart(saver.tier, read.at);
  return { read, records, origin: undefined };
}

/** Where counting starts: at the newest fork that all compared threads went through, so that all did the same before. */
function sinceOf({ records, origin }: Path, all: readonly Path[]): string | undefined {
  const forks = new Set(all.map((each) => each.origin));
  const passed = records.map(({ checkpointId }) => checkpointId).filter((id) => forks.has(id));
  const common = passed.find((id) =>
    all.every((other) => other.records.some(({ checkpointId }) => checkpointId === id)),
  );
  return common ?? origin ?? passed.at(-1);
}

async function summary(
  saver: TierSaver,
  { read, records }: Path,
  since: string | undefined,
): Promise<ThreadSummary> {
  const { threadId, namespace, checkpointId } = read.at;
  const { steps, firstMs, lastMs } = await counted(saver, read, records, since);
  const before = new Set<string>();
  if (since !== undefined) {
    const start = await readPoint(saver, { threadId, namespace, checkpointId: since });
    for (const message of messagesOf(await readValues(saver, start))) before.add(message.id ?? "");
  }
  const messages = messagesOf(await readValues(saver, read)).filter(
    ({ id }) => id === undefined || !before.has(id),
  );
  const { outcome, error } = await outcomeOf(saver, read);
  return {
    threadId,
    checkpointId,
    since,
    outcome,
    steps,
    toolCalls: countCalls(messages),
    tokens: countTokens(messages),
    durationMs: lastMs - firstMs,
    last: error ?? lastText(messages),
  };
}

async function counted(
  saver: TierSaver,
  { body }: ReadPoint,
  records: Path["records"],
  since: string | undefined,
): Promise<{ steps: number; firstMs: number; lastMs: number }> {
  const lastMs = Date.parse(body.header.ts);
  let steps = 0;
  let firstMs = lastMs;
  for (const record of records) {
    if (record.checkpointId === since) break;
    const opened = await saver.coder.decodeBody(record);
    firstMs = Date.parse(opened.header.ts);
    if ((await saver.coder.metadata(record, opened)).source === "loop") steps += 1;
  }
  return { steps, firstMs, lastMs };
}

interface CountedMessage {
  readonly id?: string | undefined;
  readonly content: unknown;
  readonly tool_calls?: readonly { readonly name: string }[] | undefined;
  readonly usage_metadata?: Readonly<Record<string, unknown>> | undefined;
}

function messagesOf(values: ReadonlyMap<string, unknown>): CountedMessage[] {
  const lists = [...values.values()].filter((value) => Array.isArray(value));
  return lists.flat().filter(isMessage) as unknown as CountedMessage[];
}

function countCalls(messages: readonly CountedMessage[]): Record<string, number> {
  const calls: Record<string, number> = {};
  for (const { tool_calls = [] } of messages)
    for (const { name } of tool_calls) calls[name] = (Object.hasOwn(calls, name) ? calls[name]! : 0) + 1;
  return calls;
}

function countTokens(messages: readonly CountedMessage[]): Tokens {
  const sum = (field: string): number =>
    messages.reduce((total, { usage_metadata }) => total + (Number(usage_metadata?.[field]) || 0), 0);
  return { input: sum("input_tokens"), output: sum("output_tokens"), total: sum("total_tokens") };
}

function lastText(messages: readonly CountedMessage[]): string | undefined {
  const content = messages.at(-1)?.content;
  return content === undefined || typeof content === "string" ? content : JSON.stringify(jsonValue(content));
}

async function outcomeOf(
  saver: TierSaver,
  { stored }: ReadPoint,
): Promise<{ outcome: ThreadSummary["outcome"]; error?: string }> {
  const { failed, status } = await taskStates(saver, stored);
  const outcome = outcomes[await status()];
  if (outcome !== "failed") return { outcome };
  const errors = { channels: new Set([ERROR]) };
  const [error] = await saver.coder.writes.pending(stored.record, [failed!], stored.blobs, errors);
  return { outcome, error: errorText(error!.value) };
}

const outcomes = {
  waiting: "interrupted",
  failed: "failed",
  interrupted: "unfinished",
  idle: "finished",
} as const;

function errorText(value: unknown): string {
  const message: unknown = (value as { message?: unknown } | null)?.message;
  return typeof message === "string" ? message : JSON.stringify(jsonValue(value));
}
