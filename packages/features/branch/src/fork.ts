import { StratigraphError, InvalidOptionError, NotFoundError, type TierSaver } from "@stratigraph/core";
import {
  checkOptions,
  decodeThreadRecord,
  encodeThreadRecord,
  forksThreads,
  inheritTags,
  outlineOf,
  validId,
  type Outline,
} from "@stratigraph/core/internal";
import {
  threadExists,
  type Address,
  type AppendRequest,
  type CheckpointRecord,
  type ForkRequest,
} from "@stratigraph/core/tier";
import { beforeMessage, checkMessage } from "./beforeMessage.ts";
import { checkChoice } from "./checkChoice.ts";
import { checkId, checkPoint } from "./checkPoint.ts";
import { checkSaver, kindOfValue } from "./checkSaver.ts";
import { forkTips, type ForkExtent, type ForkPoint, type PlannedTip } from "./forkTips.ts";
import { readForkSource, type ForkSource } from "./readForkSource.ts";
import { readPoint, type Point } from "./readPoint.ts";
import { nextReflog, readReflog, type Origin, type Reflog } from "./reflog.ts";

/** Options of {@link fork}. */
export interface ForkOptions {
  /** Id of the new thread. Default: a random UUID. */
  readonly to?: string | undefined;
  /** Which checkpoints are copied. "needed" (default): those that the new thread needs to stand alone; "full": all ancestors too. */
  readonly history?: "needed" | "full" | undefined;
  /**
   * Whether the new thread gets the tool calls that `@stratigraph/journal` recorded in the source, all of them, whatever `history` is.
   * "inherit" (default): a call that the source made isn't made again, its recorded result is returned. "none": the new thread makes
   * its calls anew, and pays again where the source paid.
   */
  readonly calls?: "inherit" | "none" | undefined;
  /**
   * The id of a message: the fork begins just before it, at the parent of the checkpoint in whose state it first stands. What a UI's "edit
   * this message" asks for: invoke the fork with the edited one. Of a message that came as input, that checkpoint still holds the input:
   * new input takes its place, and `invoke(null)` would send it as it was. Default: the fork begins at the point itself.
   */
  readonly message?: string | undefined;
}

/** A new thread that continues from another thread's checkpoint. */
export interface Fork {
  readonly threadId: string;
  /** The config that names the new thread: `graph.invoke(input, fork.config)`. */
  readonly config: { configurable: { thread_id: string } };
  readonly origin: Origin;
  /** How many records were copied: checkpoints, and events of inherited tool calls. */
  readonly checkpoints: number;
  /** How many bytes were written, without the storage's overhead. */
  readonly bytes: number;
}

/** The checkpoint where a fork begins, with the outline of its thread. */
interface ResolvedForkPoint extends ForkPoint {
  readonly at: Address;
  readonly wasHead: boolean;
  readonly outline: Outline;
  readonly reflog: Promise<Reflog>;
}

/**
 * Makes a new thread from any checkpoint. The copy keeps the checkpoint's id, so that an interrupted step resumes in the fork as it
 * would in the source, but independently of it. Encoded bytes are copied without decoding them; on PostgreSQL they don't leave the
 * server.
 *
 * If the checkpoint's step has continued in the source, the step is rewound in the fork: an interrupt waits for an answer again, and
 * tasks that didn't interrupt run again.
 *
 * @param from a point; a thread id stands for the thread's head
 * @throws NotFoundError, also if there is no such message; StratigraphError "THREAD_EXISTS" if `to` already has checkpoints; EvictedError, CorruptionError,
 * InvalidOptionError, InvalidAddressError
 */
export async function fork(saver: TierSaver, from: string | Point, options: ForkOptions = {}): Promise<Fork> {
  checkSaver("fork", saver);
  const point = checkPoint("from", from);
  checkOptions<ForkOptions>("fork", options, { to: true, ...names }, forkAdvice);
  const { to = crypto.randomUUID() } = options;
  const [made] = await forkAll(saver, point, [checkId("to", to)], options);
  return made!;
}

/**
 * Makes several threads from one checkpoint, and reads the source only once.
 * @param to ids of the new threads, or how many to make (0 to 10,000)
 * @throws as {@link fork}; forks that were made before the one that failed are kept
 */
export async function forkMany(
  saver: TierSaver,
  from: string | Point,
  to: readonly string[] | number,
  options: Omit<ForkOptions, "to"> = {},
): Promise<Fork[]> {
  checkSaver("forkMany", saver);
  const point = checkPoint("from", from);
  const ids = namesOf(to);
  const advice = { ...forkAdvice, to: "Pass the ids of the new threads as the third argument." };
  checkOptions<Omit<ForkOptions, "to">>("forkMany", options, names, advice);
  return await forkAll(saver, point, ids, options);
}

const names = { history: true, calls: true, message: true } as const;

const target = 'The new thread is named by the option "to".';
const messageAdvice = 'The id of a message is the option "message".';
const forkAdvice = {
  name: target,
  threadId: target,
  id: target,
  messageId: messageAdvice,
  beforeMessage: messageAdvice,
};

/** @throws InvalidOptionError */
function extentOf({ history = "needed", calls = "inherit" }: ForkOptions): ForkExtent {
  const ancestors = 'Use "needed" (what the fork needs to stand alone) or "full" (all ancestors).';
  checkChoice("history", history, ["needed", "full"], ancestors);
  const made = 'Use "inherit" (calls that were made are not made again) or "none" (the fork makes its own).';
  checkChoice("calls", calls, ["inherit", "none"], made);
  return { history, calls };
}

/** Ids of new threads. @throws InvalidOptionError, InvalidAddressError */
function namesOf(to: unknown): readonly string[] {
  if (Array.isArray(to)) {
    const names = to.map((name, n) => checkId(`to[${n}]`, name));
    const twice = names.find((name, n) => names.indexOf(name) !== n);
    if (twice !== undefined)
      throw new InvalidOptionError("to", twice, "It is named twice: a thread is made once.");
    return names;
  }
  if (typeof to === "number" && Number.isSafeInteger(to) && to >= 0 && to <= mostForks)
    return Array.from({ length: to }, () => crypto.randomUUID());
  const found = typeof to === "number" ? to : kindOfValue(to);
  throw new InvalidOptionError(
    "to",
    found,
    `Pass the ids of the new threads as a list, or how many (at most ${mostForks}).`,
  );
}

/** How many unnamed forks one call makes at most, so that a typo doesn't fill the storage. */
const mostForks = 10_000;

async function forkAll(
  saver: TierSaver,
  from: Point,
  names: readonly string[],
  options: Omit<ForkOptions, "to">,
): Promise<Fork[]> {
  const extent = extentOf(options);
  const message = options.message === undefined ? undefined : checkMessage(options.message);
  const source = await resolveForkPoint(
    saver,
    message === undefined ? from : await beforeMessage(saver, from, message),
  );
  const [tips, { lineage }] = await Promise.all([
    forkTips(saver, source, source.outline, extent),
    source.reflog,
  ]);
  const ts = new Date().toISOString();
  const origin: Origin = { ...source.at, wasHead: source.wasHead, ts };
  let forkSource: Promise<ForkSource> | undefined;
  const contents = (): Promise<ForkSource> =>
    (forkSource ??= readForkSource(saver, source.threadId, tips, source.outline));
  const forks: Fork[] = [];
  for (const name of names)
    forks.push(await writeFork(saver, name, { ...source, tips, contents }, [origin, ...lineage]));
  return forks;
}

/** Reads the point to fork from and the outline of its thread. @throws NotFoundError, EvictedError, InvalidAddressError */
async function resolveForkPoint(saver: TierSaver, from: Point): Promise<ResolvedForkPoint> {
  const threadId = validId("threadId", from.threadId);
  const namespace = validId("namespace", from.namespace ?? "", { empty: true });
  const reflog = readReflog(saver, threadId);
  // The reflog is awaited later. Until then a rejection must not count as unhandled.
  reflog.catch(() => undefined);
  if (namespace === "") {
    const wanted = from.checkpointId === undefined ? undefined : validId("checkpointId", from.checkpointId);
    let outline = await outlineOf(saver.tier, threadId, wanted);
    if (outline.root === undefined) {
      // The checkpoint doesn't exist or is archived. Reading it throws an error or restores it.
      await readPoint(saver, from);
      outline = await outlineOf(saver.tier, threadId, wanted);
    }
    const rootId = outline.root?.record.checkpointId ?? wanted ?? "";
    const at: Address = { threadId, namespace, checkpointId: rootId };
    return { threadId, rootId, at, wasHead: rootId === outline.head, outline, reflog };
  }
  const { at, stored, metadata, head } = await readPoint(saver, from);
  const rootId = metadata.parents?.[""];
  if (rootId === undefined) {
    throw new NotFoundError(
      `Checkpoint ${at.checkpointId} names no root checkpoint. Fork from a checkpoint of the root namespace.`,
      { ...at },
    );
  }
  const outline = await outlineOf(saver.tier, threadId, rootId);
  return { threadId, rootId, at, wasHead: at.checkpointId === head, inner: stored, outline, reflog };
}

/** Writes one fork. If the tier can't copy inside the storage, the contents are read and appended. */
async function writeFork(
  saver: TierSaver,
  threadId: string,
  source: {
    threadId: string;
    outline: Outline;
    tips: readonly PlannedTip[];
    contents: () => Promise<ForkSource>;
  },
  lineage: readonly [Origin, ...Origin[]],
): Promise<Fork> {
  const before = { lineage: [], moves: [], checkpointId: undefined };
  const reflog = await nextReflog(saver, threadId, before, { lineage, moves: [] });
  const known = await threadRecord(saver, threadId, source.outline.metadata);
  const also = {
    records: [reflog.record, ...known.records],
    blobs: [...reflog.blobs, ...known.blobs],
    heads: [reflog.head, ...known.heads],
  };
  const { tier } = saver;
  const tips = source.tips.map(({ node: _node, ...tip }) => tip);
  const seen = source.outline.revision;
  const copied =
    (forksThreads(tier) && seen !== undefined
      ? await tier.forkThread({ sourceId: source.threadId, targetId: threadId, seen, tips, also })
      : undefined) ?? (await appendFork(saver, source.threadId, threadId, await source.contents(), also));
  return {
    threadId,
    config: { configurable: { thread_id: threadId } },
    origin: lineage[0],
    checkpoints: copied.checkpoints,
    bytes: copied.bytes + sizeOf(reflog.blobs.map(({ bytes }) => bytes)) + reflog.record.body.length,
  };
}

/** The metadata that LangGraph's API knows of a thread, such as its graph, goes along. The fork itself is new. */
async function threadRecord(
  saver: TierSaver,
  threadId: string,
  source: CheckpointRecord | undefined,
): Promise<Pick<AppendRequest, "records" | "blobs" | "heads">> {
  if (source === undefined) return { records: [], blobs: [], heads: [] };
  const { metadata } = await decodeThreadRecord(saver.coder, source);
  const now = new Date();
  const made = { metadata, createdAt: now.toISOString(), changedAtMs: now.getTime() };
  return await encodeThreadRecord(saver.coder, threadId, made, undefined);
}

/** Does what a tier's `forkThread` does, with contents that were read. @throws StratigraphError "THREAD_EXISTS" */
async function appendFork(
  saver: TierSaver,
  sourceId: string,
  threadId: string,
  contents: ForkSource,
  also: ForkRequest["also"],
): Promise<{ checkpoints: number; bytes: number }> {
  const { head } = await saver.tier.peek({ threadId, namespace: "" });
  if (head !== undefined) throw threadExists(threadId, head);
  await inheritTags(saver.tier, sourceId, threadId);
  try {
    await saver.tier.append({
      threadId,
      // In the fork these records are the main line, even if they were a side branch in the source.
      records: [
        ...contents.records.map(({ lostTo: _lostTo, ...record }) => ({ ...record, threadId })),
        ...also.records,
      ],
      blobs: [...contents.blobs, ...also.blobs],
      writes: contents.writes.map((batch) => ({ ...batch, threadId })),
      heads: [...contents.heads.map((move) => ({ ...move, expected: [] })), ...also.heads],
      onConflict: "refuse",
    });
  } catch (error) {
    if (StratigraphError.is(error, "CHECKPOINT_CONFLICT"))
      throw threadExists(threadId, String(error.data["head"]));
    throw error;
  }
  const { records, writes, blobs } = contents;
  const bodies = [...records, ...writes].map(({ body }) => body);
  return { checkpoints: records.length, bytes: sizeOf([...bodies, ...blobs.map(({ bytes }) => bytes)]) };
}

function sizeOf(pieces: readonly Uint8Array[]): number {
  return pieces.reduce((sum, piece) => sum + piece.length, 0);
}
