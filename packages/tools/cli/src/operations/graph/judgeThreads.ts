import type { CheckpointTuple } from "@langchain/langgraph-checkpoint";
import type { TierSaver } from "@stratigraph/core";
import { inParallel, outlineOf, threadNamedBy, type Node } from "@stratigraph/core/internal";
import type { Address } from "@stratigraph/core/tier";
import type { z } from "zod";
import { selectedThreads } from "../change/selectedThreads.ts";
import { openRecord } from "../read/records.ts";
import type { Context } from "../table/context.ts";
import { Redaction } from "../values/redaction.ts";
import type { FindingKind, GraphFinding, graphFinding } from "./finding.ts";
import { findingOf, judgeCheckpoint } from "./judgeCheckpoint.ts";
import type { JudgedGraph } from "./judgedGraph.ts";

/** How many threads are read at the same time. */
const together = 8;
/** How many findings are listed at most; all are counted. */
export const mostFindings = 1000;
/** How many threads a sample lists at once: a folder is listed as a whole for each page. */
const pageSize = 1000;

/** A finding with its place. */
export type PlacedFinding = z.infer<typeof graphFinding> & Pick<GraphFinding, "found">;

/** What became of a walk over stored threads. */
export interface Judgement {
  readonly findings: readonly PlacedFinding[];
  /** Findings that aren't listed. */
  readonly leftOut: number;
  readonly threads: number;
  /** Threads with findings. */
  readonly bad: number;
  /** Threads that have no checkpoint, or of which this storage holds only the head's id. */
  readonly skipped: number;
  /** Threads by what is wrong with them. */
  readonly kinds: Partial<Record<FindingKind, number>>;
  readonly complete: boolean;
  /** Where to go on, if the walk was interrupted. */
  readonly cursor?: string;
}

/** Judges the heads of stored threads by a graph: all of them, or a sample. Changes nothing: archived threads stay archived. */
export async function judgeThreads(
  graph: JudgedGraph,
  saver: TierSaver,
  { sample, cursor: from }: { readonly sample?: number | undefined; readonly cursor?: string | undefined },
  context: Context,
): Promise<Judgement> {
  const redaction = new Redaction(context.redact);
  const findings: PlacedFinding[] = [];
  const kinds: Partial<Record<FindingKind, number>> = {};
  let [leftOut, threads, bad, skipped] = [0, 0, 0, 0];
  const judge = async (threadId: string): Promise<void> => {
    const found = await judgeThread(graph, saver, threadId, redaction);
    if (found === undefined) skipped += 1;
    else threads += 1;
    if (found === undefined || found.length === 0) return;
    bad += 1;
    for (const kind of new Set(found.map((one) => one.kind))) kinds[kind] = (kinds[kind] ?? 0) + 1;
    const room = Math.max(0, mostFindings - findings.length);
    findings.push(...found.slice(0, room));
    leftOut += Math.max(0, found.length - room);
  };
  let cursor = from;
  for await (const chunk of chunksOf(threadsOf(saver, sample, from))) {
    if (context.signal.aborted)
      return {
        ...{ findings, leftOut, threads, bad, skipped, kinds, complete: false },
        ...(cursor === undefined ? {} : { cursor }),
      };
    await inParallel(chunk, together, async ({ threadId, damaged }) => {
      if (damaged !== undefined) throw damaged;
      await judge(threadId);
    });
    const last = chunk.at(-1)!;
    cursor = last.next;
    context.progress({ done: threads + skipped, unit: "threads", at: last.threadId });
  }
  return { findings, leftOut, threads, bad, skipped, kinds, complete: true };
}

interface WalkedThread {
  readonly threadId: string;
  readonly next?: string | undefined;
  readonly damaged?: Error;
}

function threadsOf(
  saver: TierSaver,
  sample: number | undefined,
  cursor: string | undefined,
): AsyncIterable<WalkedThread> {
  if (sample !== undefined) return sampled(saver, sample);
  const all = { thread: [], tag: [], all: true };
  return selectedThreads(saver, all, { way: "all", cursor, skipArchived: false });
}

/** Half of the sample was written last, half of it longest ago: what an application changed shows in old threads first. */
async function* sampled(saver: TierSaver, sample: number): AsyncGenerator<WalkedThread> {
  const met = new Set<string>();
  const damaged = new Map<string, Error>();
  const onDamaged = (error: Error): void => void damaged.set(error.message, error);
  for (const [order, until] of [
    ["newest", Math.ceil(sample / 2)],
    ["oldest", sample],
  ] as const) {
    let cursor: string | undefined;
    do {
      const limit = Math.min(pageSize, sample);
      const page = await saver.listThreads({ order, limit, cursor, onDamaged });
      for (const { threadId } of page.threads) {
        if (met.size >= until) break;
        if (met.has(threadId)) continue;
        met.add(threadId);
        yield { threadId };
      }
      ({ cursor } = page);
    } while (cursor !== undefined && met.size < until);
  }
  for (const error of damaged.values()) yield { threadId: threadNamedBy(error) ?? "", damaged: error };
}

async function* chunksOf(threads: AsyncIterable<WalkedThread>): AsyncGenerator<WalkedThread[]> {
  let chunk: WalkedThread[] = [];
  for await (const thread of threads) {
    chunk.push(thread);
    if (chunk.length < together) continue;
    yield chunk;
    chunk = [];
  }
  if (chunk.length > 0) yield chunk;
}

/** @returns undefined if there is nothing to judge here */
async function judgeThread(
  graph: JudgedGraph,
  saver: TierSaver,
  threadId: string,
  redaction: Redaction,
): Promise<PlacedFinding[] | undefined> {
  const heads = await headsOf(graph, saver, threadId);
  const found: PlacedFinding[] = [];
  let isHere = false;
  for (const at of heads) {
    const judged = await judgeHead(graph, saver, at, redaction);
    if (at.namespace === "" && judged === undefined) return undefined;
    isHere = true;
    const place = {
      thread: threadId,
      checkpoint: at.checkpointId,
      ...(at.namespace === "" ? {} : { namespace: at.namespace }),
    };
    found.push(...(judged ?? []).map((one) => ({ ...place, ...one })));
  }
  return isHere ? found : undefined;
}

async function judgeHead(
  graph: JudgedGraph,
  saver: TierSaver,
  at: Address,
  redaction: Redaction,
): Promise<GraphFinding[] | undefined> {
  const own = graph.at(at.namespace);
  // LangGraph finds subgraphs that are nodes. What a node calls by itself isn't known here.
  if (own === undefined) return [];
  try {
    const tuple = await listed(saver, at);
    return tuple && (await judgeCheckpoint(own, saver, tuple, redaction));
  } catch (error) {
    return [findingOf(error)];
  }
}

/** A checkpoint as the saver gives it to a graph. A listing, unlike getTuple, doesn't bring an archived thread back. */
async function listed(saver: TierSaver, at: Address): Promise<CheckpointTuple | undefined> {
  const { threadId: thread_id, namespace: checkpoint_ns, checkpointId: checkpoint_id } = at;
  for await (const tuple of saver.list(
    { configurable: { thread_id, checkpoint_ns, checkpoint_id } },
    { limit: 1 },
  ))
    return tuple;
  return undefined;
}

/** The heads that a graph loads when the thread goes on: the root's, and those of subgraphs that are still needed. */
async function headsOf(graph: JudgedGraph, saver: TierSaver, threadId: string): Promise<Address[]> {
  if (!graph.hasSubgraphs) {
    const { head } = await saver.tier.peek({ threadId, namespace: "" });
    return head === undefined ? [] : [{ threadId, namespace: "", checkpointId: head }];
  }
  const { head, heads } = await outlineOf(saver.tier, threadId);
  if (head === undefined) return [];
  const found: Address[] = [{ threadId, namespace: "", checkpointId: head }];
  for (const [namespace, node] of heads)
    if (graph.at(namespace) !== undefined && (await isNeeded(saver, namespace, node, { head, heads })))
      found.push({ threadId, namespace, checkpointId: node.record.checkpointId });
  return found;
}

/**
 * Whether a subgraph's head is loaded again. A namespace without the id of a task is: it lasts as long as the thread. Others belong to a
 * task, and are done with once a namespace above them has gone on.
 */
async function isNeeded(
  saver: TierSaver,
  namespace: string,
  node: Node,
  { head, heads }: { readonly head: string; readonly heads: ReadonlyMap<string, Node> },
): Promise<boolean> {
  if (!namespace.includes(":")) return true;
  const { metadata } = await openRecord(saver, node);
  const parents = Object.entries((metadata["parents"] ?? {}) as Readonly<Record<string, string>>);
  return parents.every(([above, id]) => id === (above === "" ? head : heads.get(above)?.record.checkpointId));
}
