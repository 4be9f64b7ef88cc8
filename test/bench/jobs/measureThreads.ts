import { AIMessage } from "@langchain/core/messages";
import { emptyCheckpoint, uuid6, type Checkpoint } from "@langchain/langgraph-checkpoint";
import { operations, runOperation, type Context } from "@stratigraph/cli/operations";
import { PostgresSaver } from "@stratigraph/postgres";
import { randomNumbers } from "../randomNumbers.ts";
import { listings } from "../scale/listings.ts";
import { openPlace, type TierPlace } from "../scale/openPlace.ts";
import { threadName } from "../scale/threadNames.ts";
import { percentile } from "../stats.ts";

/** Input of the job: two schemas, each with its number of threads. */
export interface MeasureInput {
  places: readonly (TierPlace & { threads: number })[];
  /** Threads that are read and continued in each, and calls of each listing. */
  visits: number;
  rounds: number;
}

/** Milliseconds. */
export interface Durations {
  p50: number;
  p99: number;
}

/** What each call took, by the place of the schema in the input. */
export interface MeasureResult {
  calls: Record<string, Durations[]>;
  /** Milliseconds per thread that was verified, and per thread that lost checkpoints to `keepLast`. */
  verifyPerThread: number[];
  prunePerThread: number[];
  /** A maintenance that finds nothing to do. Milliseconds. */
  idleMaintenance: number[];
}

/** In how many turns threads are verified and pruned. */
const TURNS = 10;
/** Threads that are visited before anything counts: codecs, plans and connections. */
const WARM_UP = 30;

/** Measures the same calls in several schemas, in turns, so that a machine that is busy for a while slows them all. */
export async function job({ places, visits, rounds }: MeasureInput): Promise<MeasureResult> {
  const samples = new Map<string, number[][]>();
  const measure = async (what: string, place: number, work: () => Promise<unknown>): Promise<void> => {
    const start = performance.now();
    await work();
    const all = samples.get(what) ?? places.map(() => []);
    all[place]!.push(performance.now() - start);
    samples.set(what, all);
  };
  const savers = places.map(
    (place) => new PostgresSaver(openPlace(place), undefined, { keepLast: 20, maxThreads: 5, pause: "0ms" }),
  );
  const random = randomNumbers(5);
  const orders = places.map(({ threads }) => sample(threads, WARM_UP + visits, random));
  for (let visit = 0; visit < WARM_UP + visits; visit += 1) {
    if (visit === WARM_UP) samples.clear();
    for (const [n, saver] of savers.entries()) {
      const config = { configurable: { thread_id: threadName(orders[n]![visit]!) } };
      await measure("getTuple, first of a thread", n, () => saver.getTuple(config));
      const next = await nextOf(saver, config);
      await measure("put", n, () => saver.put(next.config, next.checkpoint, next.metadata, next.versions));
      await measure("getTuple, after a put", n, () => saver.getTuple(config));
    }
  }
  const pages = await Promise.all(savers.map((saver, n) => listings(saver, threadName(orders[n]![0]!))));
  for (let round = 0; round < rounds; round += 1)
    for (const [n, all] of pages.entries()) for (const { name, page } of all) await measure(name, n, page);
  const idle = savers.map(
    ({ tier }) => new PostgresSaver(tier, undefined, { deleteAfter: "90d", pause: "0ms" }),
  );
  const verifying: number[][] = places.map(() => []);
  const pruning: number[][] = places.map(() => []);
  const share = Math.ceil(Math.min(visits, 200) / TURNS);
  for (let turn = 0; turn < TURNS; turn += 1)
    for (const [n, saver] of savers.entries()) {
      const threads = orders[n]!.slice(turn * share, (turn + 1) * share).map(threadName);
      verifying[n]!.push(await verified(saver, threads));
      pruning[n]!.push(await pruned(saver));
      await measure("idle", n, () => idle[n]!.maintain());
    }
  await Promise.all(savers.map((saver) => saver.end()));
  const durations = (all: readonly number[]): Durations => ({
    p50: percentile(all, 0.5),
    p99: percentile(all, 0.99),
  });
  const { idle: _idle, ...calls } = Object.fromEntries(
    [...samples].map(([what, all]) => [what, all.map(durations)]),
  );
  const idleMaintenance = samples.get("idle")!.map((all) => percentile(all, 0.5));
  const medians = (all: readonly (readonly number[])[]): number[] => all.map((each) => percentile(each, 0.5));
  return { calls, verifyPerThread: medians(verifying), prunePerThread: medians(pruning), idleMaintenance };
}

/** Different numbers below `of`, as many as asked for, or all. */
function sample(of: number, wanted: number, random: () => number): number[] {
  if (wanted > of) throw new Error(`${wanted} threads are to be visited, and there are ${of}`);
  const found = new Set<number>();
  while (found.size < wanted) found.add(Math.floor(random() * of));
  return [...found];
}

type ThreadConfig = { configurable: { thread_id: string } };

/** The checkpoint that the next step would put: one message more. */
async function nextOf(saver: PostgresSaver, { configurable }: ThreadConfig) {
  const tuple = await saver.getTuple({ configurable });
  if (tuple === undefined) throw new Error(`thread ${configurable.thread_id} isn't there`);
  const step = (tuple.metadata?.step ?? 0) + 1;
  const before = tuple.checkpoint.channel_values["messages"] as AIMessage[];
  const message = new AIMessage({
    id: `n${step}`,
    content: `${step} is the number of this step. `.repeat(10),
  });
  const versions = { messages: step + 1000 };
  const checkpoint: Checkpoint = {
    ...emptyCheckpoint(),
    id: uuid6(step),
    channel_values: { ...tuple.checkpoint.channel_values, messages: [...before, message] },
    channel_versions: { ...tuple.checkpoint.channel_versions, ...versions },
  };
  return {
    config: tuple.config,
    checkpoint,
    metadata: { source: "loop" as const, step, parents: {} },
    versions,
  };
}

/** Verifies threads by their ids. Milliseconds for each. */
async function verified(saver: PostgresSaver, threads: readonly string[]): Promise<number> {
  const verify = operations.find(({ name }) => name === "verify");
  const context = {
    saver: async () => saver,
    signal: new AbortController().signal,
    progress: () => undefined,
  } as Partial<Context> as Context;
  const start = performance.now();
  const { findings } = await runOperation(verify!, { threads }, context);
  if (!Array.isArray(findings) || findings.length > 0) throw new Error(JSON.stringify(findings));
  return (performance.now() - start) / threads.length;
}

/** Prunes a batch of threads. Milliseconds for each. */
async function pruned(saver: PostgresSaver): Promise<number> {
  const start = performance.now();
  const { steps } = await saver.maintain();
  const failed = steps.find(({ done }) => !done);
  if (failed !== undefined) throw failed.error ?? new Error("a thread was not pruned");
  return (performance.now() - start) / steps.filter(({ what }) => what === "prune").length;
}
