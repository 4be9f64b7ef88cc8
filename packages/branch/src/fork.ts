import { StratigraphError, validId, type TierSaver } from "@stratigraph/core";
import { gather, type Gathered } from "./gather.ts";
import { readPoint, type Point } from "./point.ts";
import { nextReflog, readReflog, type Origin } from "./reflog.ts";

/** How a thread is forked. */
export interface ForkOptions {
  /** Id of the new thread. Default: a random UUID. */
  readonly to?: string | undefined;
  /** "needed" (default): what the new thread needs to stand alone; "full": all ancestors too. */
  readonly history?: "needed" | "full" | undefined;
}

/** A new thread that goes on from another one's checkpoint. */
export interface Fork {
  readonly threadId: string;
  /** Names the thread, for the graph: `graph.invoke(input, fork.config)`. */
  readonly config: { configurable: { thread_id: string } };
  readonly origin: Origin;
  /** How many checkpoints were copied, and how many bytes in all. */
  readonly checkpoints: number;
  readonly bytes: number;
}

/**
 * Makes a new thread from any checkpoint. The copy keeps its checkpoint id, so that an interrupted step resumes in the
 * fork as it would have in the source, on its own. Bytes are copied as they are.
 *
 * Forked from a checkpoint whose step went on since, the step is wound back: an interrupt waits for an answer again, and
 * tasks that didn't ask run again.
 *
 * @throws NotFoundError; StratigraphError "THREAD_EXISTS" where `to` has checkpoints; EvictedError, CorruptionError,
 * InvalidAddressError
 */
export async function fork(saver: TierSaver, from: Point, options: ForkOptions = {}): Promise<Fork> {
  const [made] = await forkMany(saver, from, [options.to ?? crypto.randomUUID()], options);
  return made!;
}

/**
 * Makes several threads from one checkpoint; the source is read once.
 * @param to ids of the new threads, or how many
 * @throws as {@link fork}; forks made before the one that failed stay
 */
export async function forkMany(
  saver: TierSaver,
  from: Point,
  to: readonly string[] | number,
  { history = "needed" }: Pick<ForkOptions, "history"> = {},
): Promise<Fork[]> {
  const names = typeof to === "number" ? Array.from({ length: to }, () => crypto.randomUUID()) : to;
  const source = await readPoint(saver, from);
  const [contents, { lineage }] = await Promise.all([
    gather(saver, source, history),
    readReflog(saver, source.at.threadId),
  ]);
  const ts = new Date().toISOString();
  const origin: Origin = { ...source.at, wasHead: source.at.checkpointId === source.head, ts };
  const forks: Fork[] = [];
  for (const name of names)
    forks.push(await write(saver, validId("to", name), contents, [origin, ...lineage]));
  return forks;
}

async function write(
  saver: TierSaver,
  threadId: string,
  contents: Gathered,
  lineage: readonly [Origin, ...Origin[]],
): Promise<Fork> {
  const { head } = await saver.tier.peek({ threadId, namespace: "" });
  if (head !== undefined) {
    throw new StratigraphError(
      "THREAD_EXISTS",
      `Thread ${JSON.stringify(threadId)} has checkpoints already (${head}). Fork to a new thread id, or delete it first.`,
      { threadId },
    );
  }
  const before = { lineage: [], moves: [], checkpointId: undefined };
  const reflog = await nextReflog(saver, threadId, before, { lineage, moves: [] });
  const blobs = [...contents.blobs, ...reflog.blobs];
  await saver.tier.append({
    threadId,
    // Main line in its own thread, whatever it was in the source.
    records: [
      ...contents.records.map(({ lostTo: _lostTo, ...record }) => ({ ...record, threadId })),
      reflog.record,
    ],
    blobs,
    writes: contents.writes.map((batch) => ({ ...batch, threadId })),
    heads: [...contents.heads.map((head) => ({ ...head, expected: [] })), reflog.head],
    onConflict: "refuse",
  });
  const bytes = [
    ...blobs.map((blob) => blob.bytes),
    ...[...contents.records, ...contents.writes].map(({ body }) => body),
  ];
  return {
    threadId,
    config: { configurable: { thread_id: threadId } },
    origin: lineage[0],
    checkpoints: contents.records.length,
    bytes: bytes.reduce((sum, piece) => sum + piece.length, 0),
  };
}
