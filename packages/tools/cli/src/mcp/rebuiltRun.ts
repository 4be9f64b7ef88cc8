import { NotFoundError } from "@stratigraph/core";
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
 * @throws NotFoundError if no checkpoint or call of the thread is of this run
 */
export async function rebuiltRun(
  context: Context,
  { thread, run }: { readonly thread: string; readonly run: string },
) {
  const saver = await context.saver();
  const snapshots: Snapshot[] = [];
  let isComplete = true;
  for await (const { record } of saver.tier.list({ threadId: thread, runIds: [run], recordsOnly: true })) {
    context.signal.throwIfAborted();
    if (snapshots.length === most) {
      isComplete = false;
      break;
    }
    const body = await saver.coder.decodeBody(record);
    const { step, source } = await saver.coder.metadata(record, body);
    const { checkpointId: checkpoint, namespace, parentId: parent } = record;
    const uri = uriOf({ kind: "checkpoint", thread, checkpoint, namespace });
    snapshots.push({ checkpoint, namespace, parent, step, source, ts: body.header.ts, uri });
  }
  snapshots.reverse();
  const page = await runNamed("calls", { thread, limit: most }, context).catch((error: unknown) => {
    if (NotFoundError.is(error)) return undefined;
    throw error;
  });
  const calls = (page?.items ?? []).filter(({ where }) => where.run === run);
  if (snapshots.length === 0 && calls.length === 0)
    throw new NotFoundError(`Thread ${JSON.stringify(thread)} has nothing of a run ${JSON.stringify(run)}.`, {
      threadId: thread,
      run,
    });
  const times = snapshots.map(({ ts }) => Date.parse(ts));
  return {
    thread,
    run,
    complete: isComplete && page?.cursor === undefined,
    snapshots,
    calls: calls.map((call) => ({ ...call, before: call.where.checkpoint, after: afterOf(call, snapshots) })),
    used: {
      snapshots: snapshots.length,
      ms: times.length === 0 ? 0 : Math.max(...times) - Math.min(...times),
      calls: usedBy(calls),
    },
  };
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
