import { compare, type Tokens } from "@stratigraph/branch";
import { NotFoundError, StratigraphError, type TierSaver } from "@stratigraph/core";
import { threadRuns } from "@stratigraph/branch/internal";
import type { DecodedBody } from "@stratigraph/core/internal";
import { isReserved, type CheckpointRecord, type ListQuery } from "@stratigraph/core/tier";
import type { Context, OutputOf } from "../operations/index.ts";
import { runNamed } from "./runNamed.ts";
import { uriOf } from "./uris.ts";

/** How many checkpoints and calls of a run are told at most. */
const most = 1000;

type Call = OutputOf<"calls">["items"][number];

/** A checkpoint of a run. */
interface Snapshot {
  readonly checkpoint: string;
  readonly namespace: string;
  readonly parent: string | undefined;
  readonly step: number | undefined;
  readonly source: string | undefined;
  readonly ts: string;
  /** The state, whole. */
  readonly uri: string;
}

/**
 * A run, put together from what is stored: each snapshot with its parent, and each call with the snapshots before and after it. From any
 * snapshot a client goes on by fork and run; recorded results are served then.
 * @param named `run` is the id of a run, or one of its checkpoints: of a run whose application gave it no id
 * @throws NotFoundError if the thread has nothing of this run
 */
export async function rebuiltRun(
  context: Context,
  { thread, run }: { readonly thread: string; readonly run: string },
) {
  const saver = await context.saver();
  const byId = await snapshotsOf(context, saver, { threadId: thread, runIds: [run] });
  const found = byId.snapshots.length > 0 ? byId : await runThrough(context, saver, thread, run);
  const { snapshots } = found;
  if (snapshots.length === 0) {
    const message = `Thread ${JSON.stringify(thread)} has nothing of a run ${JSON.stringify(run)}. Name a run by its id, or by one of its checkpoints: history shows both.`;
    throw new NotFoundError(message, { threadId: thread, run });
  }
  const page = await runNamed("calls", { thread, limit: most, order: "oldest" }, context).catch(unlessGone);
  const own = new Set(snapshots.map(({ checkpoint }) => checkpoint));
  const calls = (page?.items ?? []).filter(
    ({ where }) => where.run === run || own.has(where.checkpoint ?? ""),
  );
  const times = snapshots.map(({ ts }) => Date.parse(ts));
  return {
    thread,
    run,
    complete: found.complete && page?.cursor === undefined,
    snapshots,
    calls: calls.map((call) => ({ ...call, before: call.where.checkpoint, after: afterOf(call, snapshots) })),
    used: {
      snapshots: snapshots.length,
      ms: Math.max(...times) - Math.min(...times),
      tokens: await tokensOf(saver, thread, snapshots),
      calls: usedBy(calls),
    },
  };
}

interface Found {
  /** Oldest first. */
  readonly snapshots: readonly Snapshot[];
  readonly complete: boolean;
}

async function snapshotsOf({ signal }: Context, saver: TierSaver, query: ListQuery): Promise<Found> {
  const snapshots: Snapshot[] = [];
  for await (const { record } of saver.tier.list({ ...query, recordsOnly: true })) {
    signal.throwIfAborted();
    // Calls are records of their run, too.
    if (isReserved(record.namespace)) continue;
    if (snapshots.length === most) return { snapshots: snapshots.toReversed(), complete: false };
    const body = await saver.coder.decodeBody(record);
    snapshots.push(snapshotOf(record, body, await saver.coder.metadata(record, body)));
  }
  return { snapshots: snapshots.toReversed(), complete: true };
}

/** The run of a checkpoint of the thread's root, with all branches. */
async function runThrough(
  { signal }: Context,
  saver: TierSaver,
  thread: string,
  checkpoint: string,
): Promise<Found> {
  const all = await threadRuns(saver, thread, signal);
  const run = all.find(({ id }) => id === checkpoint)?.run.all ?? [];
  const snapshots = run
    .slice(0, most)
    .map(({ listed: { record }, body, metadata }) => snapshotOf(record, body, metadata));
  return { snapshots, complete: run.length <= most };
}

function snapshotOf(
  { threadId: thread, checkpointId: checkpoint, namespace, parentId: parent }: CheckpointRecord,
  { header: { ts } }: DecodedBody,
  { step, source }: { readonly step?: number; readonly source?: string },
): Snapshot {
  const uri = uriOf({ kind: "checkpoint", thread, checkpoint, namespace });
  return { checkpoint, namespace, parent, step, source, ts, uri };
}

/** The tokens that models reported in the run's messages: those at its end, without those at its beginning. */
async function tokensOf(saver: TierSaver, threadId: string, snapshots: readonly Snapshot[]): Promise<Tokens> {
  const own = snapshots.filter(({ namespace }) => namespace === "");
  const [first, last] = [own[0], own.at(-1)];
  if (first === undefined || last === undefined) return { input: 0, output: 0, total: 0 };
  const at = async (checkpointId: string): Promise<Tokens> =>
    (await compare(saver, [{ threadId, checkpointId }])).threads[0]!.tokens;
  const end = await at(last.checkpoint);
  const begin = first.parent === undefined ? undefined : await at(first.parent).catch(unlessGone);
  const used = (field: keyof Tokens): number => Math.max(0, end[field] - (begin?.[field] ?? 0));
  return { input: used("input"), output: used("output"), total: used("total") };
}

/** The checkpoint before a run may have been pruned. */
function unlessGone(error: unknown): undefined {
  if (StratigraphError.is(error, "NOT_FOUND")) return undefined;
  throw error;
}

/** The checkpoint that has the call's result: the first that was made from where the call's step began. */
function afterOf({ where }: Call, snapshots: readonly Snapshot[]): string | undefined {
  const begins = where.checkpoint;
  return snapshots.find(({ namespace, parent }) => namespace === "" && parent === begins)?.checkpoint;
}

/** How often each tool was called, for how long, and how often a recorded result was served. */
function usedBy(calls: readonly Call[]) {
  const used = new Map<
    string,
    { tool: string; calls: number; ms: number; attempts: number; replays: number }
  >();
  for (const { tool, ms = 0, attempts, replays } of calls) {
    const of = used.get(tool) ?? { tool, calls: 0, ms: 0, attempts: 0, replays: 0 };
    used.set(tool, {
      tool,
      calls: of.calls + 1,
      ms: of.ms + ms,
      attempts: of.attempts + attempts,
      replays: of.replays + replays,
    });
  }
  return [...used.values()];
}
