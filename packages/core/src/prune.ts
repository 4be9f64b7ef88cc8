import { INTERRUPT } from "./channels.ts";
import { checkOptions, shown, type OptionAdvice, type OptionNames } from "./checkOptions.ts";
import type { CheckpointCoder } from "./checkpointCoder.ts";
import { InvalidOptionError, StratigraphError } from "./errors.ts";
import type { DecodedBody } from "./record.ts";
import { snapshotTag } from "./tags.ts";
import type { Address, Blob, BlobHash, BlobInfo, CheckpointRecord, ListedCheckpoint, Tier } from "./tier.ts";

/** How a thread is pruned. */
export interface PruneOptions {
  /** "keep_latest": the newest checkpoints of every namespace stay; "delete": the thread goes. */
  readonly strategy: "keep_latest" | "delete";
  /** How many of each namespace stay. Default 1. */
  readonly keepLast?: number | undefined;
}

/** Decisions are made on a revision and repeated if the thread moved on; this often. */
const attempts = 8;

/** One checkpoint while deciding: its record, what its manifest says, what it waits for. */
interface Node {
  readonly record: CheckpointRecord;
  readonly body: DecodedBody;
  readonly writeBlobs: readonly BlobHash[];
  readonly interrupted: boolean;
  readonly deltaChannels: readonly string[];
  readonly written: ReadonlySet<string>;
  readonly parents: Readonly<Record<string, string>>;
}

/** A thread while deciding: all of its checkpoints, newest first, and its heads. */
interface Thread {
  readonly revision: number;
  readonly nodes: readonly Node[];
  readonly heads: ReadonlyMap<string, string>;
  readonly byKey: ReadonlyMap<string, Node>;
}

function keyOf(at: { namespace: string; checkpointId: string }): string {
  return JSON.stringify([at.namespace, at.checkpointId]);
}

const names: OptionNames<PruneOptions> = { strategy: true, keepLast: true };
const advice: OptionAdvice = {
  keep: "Write keepLast.",
  limit: "Write keepLast.",
  olderThan: "Pruning by age is trimAfter, an option of the saver, and maintain().",
  threadIds: "They are the first argument.",
};

/** Checks how to prune: what is removed is gone for good, so nothing is guessed. @throws InvalidOptionError */
export function checkPruneOptions(options: PruneOptions | undefined): void {
  const ways = 'Use "keep_latest", with keepLast beside it, or "delete".';
  if (options === undefined)
    throw new InvalidOptionError("strategy", "nothing", `Say what stays of a thread. ${ways}`);
  checkOptions("prune", options, names, advice);
  const { strategy, keepLast } = options;
  if (strategy !== "keep_latest" && strategy !== "delete")
    throw new InvalidOptionError("strategy", shown(strategy), ways);
  if (keepLast === undefined) return;
  if (strategy === "delete") {
    throw new InvalidOptionError(
      "keepLast",
      shown(keepLast),
      'Under "delete" nothing stays. Leave it out, or use the strategy "keep_latest".',
    );
  }
  if (!Number.isInteger(keepLast) || keepLast < 1)
    throw new InvalidOptionError("keepLast", shown(keepLast), "Use a whole number, 1 or more.");
}

/** What stays of every namespace, besides what is kept always: what either of these keeps. */
export interface KeepRule {
  /** How many, from its head back. At least 1. */
  readonly keepLast: number;
  /** All that were made at this instant or later. Milliseconds since 1970. */
  readonly fromMs?: number | undefined;
}

/** How {@link pruneThread} goes about it. */
export interface PruneThreadOptions {
  /** Only if the thread is still at this revision. Absent: on the newest state, whatever that is. */
  readonly revision?: number | undefined;
  /** Only count. Default false. */
  readonly dryRun?: boolean | undefined;
}

/** What {@link pruneThread} did. */
export interface Pruned {
  /** False where the thread is at another revision than the one named: nothing was done. */
  readonly done: boolean;
  /** Checkpoints that went, or would go. */
  readonly checkpoints: number;
}

/** Prunes one thread, by options that were checked. Unknown threads are no-ops. */
export async function prune(
  tier: Tier,
  coder: CheckpointCoder,
  threadId: string,
  options: PruneOptions,
): Promise<void> {
  const { strategy, keepLast = 1 } = options;
  if (strategy === "delete") await tier.deleteThread(threadId);
  else await pruneThread(tier, coder, threadId, { keepLast });
}

/**
 * Takes away what `rule` leaves over, except what kept checkpoints need for their DeltaChannels, and those with unresolved
 * interrupts. For maintenance.
 */
export async function pruneThread(
  tier: Tier,
  coder: CheckpointCoder,
  threadId: string,
  rule: KeepRule,
  options: PruneThreadOptions = {},
): Promise<Pruned> {
  const keep = (thread: Thread): Set<Node> => withDeltaChains(thread, latest(thread, rule));
  return await removeWhere(tier, coder, threadId, keep, options);
}

/** Whether a thread has checkpoints to lose. */
export interface PruneDue {
  /** Its main line has some now that the rule leaves over; {@link pruneThread} may still keep all of them. */
  readonly isDue: boolean;
  /** When the next ones come of age, if nobody writes to it: milliseconds since 1970; Infinity: never. */
  readonly nextDueMs: number;
}

/**
 * Asks for the records of a thread's main line alone: a cheap question before {@link pruneThread}.
 * @param trimAfterMs the age at which checkpoints go that aren't among the last; absent: at any age
 */
export async function pruneDue(
  tier: Tier,
  coder: CheckpointCoder,
  threadId: string,
  { keepLast, trimAfterMs }: { readonly keepLast: number; readonly trimAfterMs?: number | undefined },
  nowMs: number,
): Promise<PruneDue> {
  const limit = trimAfterMs === undefined ? keepLast + 1 : undefined;
  let [count, isDue, nextDueMs] = [0, false, Number.POSITIVE_INFINITY];
  for await (const { record } of tier.list({ threadId, namespace: "", recordsOnly: true, limit })) {
    count += 1;
    if (count <= keepLast) continue;
    const dueMs = trimAfterMs === undefined ? 0 : madeAtMs(await coder.decodeBody(record)) + trimAfterMs;
    if (dueMs < nowMs) isDue = true;
    else nextDueMs = Math.min(nextDueMs, dueMs);
  }
  return { isDue, nextDueMs };
}

/** Removes the checkpoints of runs. Returns the threads touched. */
export async function removeRuns(
  tier: Tier,
  coder: CheckpointCoder,
  runIds: readonly string[],
): Promise<string[]> {
  if (runIds.length === 0) return [];
  const threads = new Set<string>();
  for await (const { record } of tier.list({ runIds, recordsOnly: true })) threads.add(record.threadId);
  const gone = new Set(runIds);
  const stays = ({ record }: Node): boolean => record.runId === undefined || !gone.has(record.runId);
  for (const threadId of threads) {
    await removeWhere(tier, coder, threadId, (thread) =>
      withDeltaChains(thread, new Set(thread.nodes.filter(stays))),
    );
  }
  return [...threads];
}

/**
 * Removes what `keep` leaves out, atomically; again on the newest state if the thread moved on meanwhile, unless a revision is
 * named.
 */
async function removeWhere(
  tier: Tier,
  coder: CheckpointCoder,
  threadId: string,
  keep: (thread: Thread) => ReadonlySet<Node>,
  { revision, dryRun = false }: PruneThreadOptions = {},
): Promise<Pruned> {
  for (let attempt = 0; attempt < attempts; attempt += 1) {
    const thread = await load(tier, coder, threadId);
    if (revision !== undefined && thread.revision !== revision) return { done: false, checkpoints: 0 };
    const kept = keep(thread);
    const checkpoints = thread.nodes.length - kept.size;
    if (checkpoints === 0 || dryRun) return { done: true, checkpoints };
    const goes = thread.nodes.filter((node) => !kept.has(node)).map(({ record }): Address => record);
    const { dropBlobs, replaceBlobs } = await blobsAfter(tier, coder, thread, threadId, kept);
    const heads = headsAfter(thread, kept);
    if (
      await tier.remove({
        threadId,
        revision: thread.revision,
        checkpoints: goes,
        dropBlobs,
        replaceBlobs,
        heads,
      })
    )
      return { done: true, checkpoints };
  }
  throw new StratigraphError(
    "OVERLOADED",
    `Thread ${JSON.stringify(threadId)} was written to during each of ${attempts} attempts to prune it. Prune it when it is idle.`,
    { threadId },
  );
}

async function load(tier: Tier, coder: CheckpointCoder, threadId: string): Promise<Thread> {
  const { revision } = await tier.peek({ threadId, namespace: "" });
  const nodes: Node[] = [];
  const heads = new Map<string, string>();
  for await (const listed of tier.list({ threadId, recordsOnly: true })) {
    nodes.push(await toNode(coder, listed));
    if (listed.head !== undefined) heads.set(listed.record.namespace, listed.head);
  }
  return { revision, nodes, heads, byKey: new Map(nodes.map((node) => [keyOf(node.record), node])) };
}

async function toNode(coder: CheckpointCoder, { record, writes }: ListedCheckpoint): Promise<Node> {
  const body = await coder.decodeBody(record);
  const metadata = await coder.metadata(record, body);
  const channels = await coder.writes.channels(record, writes);
  const snapshots = [...body.manifest.keys()].filter((channel) => record.tags.includes(snapshotTag(channel)));
  return {
    record,
    body,
    writeBlobs: writes.flatMap((batch) => batch.blobs),
    interrupted: channels.has(INTERRUPT),
    written: channels,
    deltaChannels: [...Object.keys(metadata.counters_since_delta_snapshot ?? {}), ...snapshots],
    parents: metadata.parents ?? {},
  };
}

/** The newest of every namespace by the parent chain from its head, what is young enough, and every leaf that waits for an answer. */
function latest(thread: Thread, { keepLast, fromMs = Number.POSITIVE_INFINITY }: KeepRule): Set<Node> {
  const kept = new Set<Node>();
  const continued = new Set(
    thread.nodes.map(({ record }) => keyOf({ ...record, checkpointId: record.parentId ?? "" })),
  );
  for (const node of thread.nodes) {
    const waits = node.interrupted && !continued.has(keyOf(node.record));
    if (waits || madeAtMs(node.body) >= fromMs) kept.add(node);
  }
  for (const [namespace, head] of thread.heads) {
    let checkpointId: string | undefined = head;
    for (let n = 0; n < keepLast && checkpointId !== undefined; n += 1) {
      const node = thread.byKey.get(keyOf({ namespace, checkpointId }));
      if (node === undefined) break;
      kept.add(node);
      checkpointId = node.record.parentId;
    }
  }
  for (const node of kept) if (isSpent(thread, node, kept)) kept.delete(node);
  return kept;
}

/**
 * A subgraph's namespace carries the id of the task that ran it and is never used again: once the parent checkpoint of that
 * task goes, nothing can reach it.
 */
function isSpent(thread: Thread, node: Node, kept: ReadonlySet<Node>): boolean {
  if (node.interrupted || !node.record.namespace.includes(":")) return false;
  const outer = Object.entries(node.parents).map(([namespace, checkpointId]) =>
    thread.byKey.get(keyOf({ namespace, checkpointId })),
  );
  return outer.some((parent) => parent !== undefined && !kept.has(parent));
}

/**
 * A thread's DeltaChannels: those that LangGraph counts or wrote snapshots of, and those that have versions and writes but
 * never a value.
 */
function deltaChannelsOf(thread: Thread): Set<string> {
  const found = new Set(thread.nodes.flatMap((node) => node.deltaChannels));
  const valued = new Set<string>();
  for (const { body } of thread.nodes) {
    for (const { channel, value } of body.manifest.values()) if (value !== undefined) valued.add(channel);
  }
  const versioned = new Set(thread.nodes.flatMap(({ body }) => [...body.manifest.keys()]));
  for (const { written } of thread.nodes) {
    for (const channel of written) if (versioned.has(channel) && !valued.has(channel)) found.add(channel);
  }
  return found;
}

/** Adds the ancestors that kept checkpoints rebuild their DeltaChannels from. */
function withDeltaChains(thread: Thread, kept: Set<Node>): Set<Node> {
  const channels = deltaChannelsOf(thread);
  if (channels.size === 0) return kept;
  for (const node of [...kept]) {
    for (const channel of channels) {
      let at: Node | undefined = node;
      while (at !== undefined && at.body.manifest.get(channel)?.value === undefined) {
        const { namespace, parentId }: CheckpointRecord = at.record;
        at =
          parentId === undefined ? undefined : thread.byKey.get(keyOf({ namespace, checkpointId: parentId }));
        if (at !== undefined) kept.add(at);
      }
    }
  }
  return kept;
}

/** When a checkpoint was made, as it says itself; one that doesn't is as old as can be. Milliseconds since 1970. */
function madeAtMs({ header }: DecodedBody): number {
  const ms = Date.parse(header.ts);
  return Number.isNaN(ms) ? 0 : ms;
}

/** New heads where the head goes: its nearest ancestor that stays, or else the newest main-line checkpoint that does. */
function headsAfter(thread: Thread, kept: ReadonlySet<Node>): { namespace: string; to?: string }[] {
  const moves: { namespace: string; to?: string }[] = [];
  for (const [namespace, head] of thread.heads) {
    const first = thread.byKey.get(keyOf({ namespace, checkpointId: head }));
    if (first === undefined || kept.has(first)) continue;
    let at: Node | undefined = first;
    while (at !== undefined && !kept.has(at)) {
      const { parentId }: CheckpointRecord = at.record;
      at =
        parentId === undefined ? undefined : thread.byKey.get(keyOf({ namespace, checkpointId: parentId }));
    }
    const to =
      at ??
      thread.nodes.find(
        (node) => node.record.namespace === namespace && node.record.lostTo === undefined && kept.has(node),
      );
    moves.push({ namespace, ...(to === undefined ? {} : { to: to.record.checkpointId }) });
  }
  return moves;
}

/**
 * What happens to the thread's blobs: which go, and which are rewritten whole because their base goes. Blobs that no
 * checkpoint names stay, as pending writes may have come before their checkpoint; those are never patches.
 */
async function blobsAfter(
  tier: Tier,
  coder: CheckpointCoder,
  thread: Thread,
  threadId: string,
  kept: ReadonlySet<Node>,
): Promise<{ dropBlobs: BlobHash[]; replaceBlobs: Blob[] }> {
  const infos = new Map<BlobHash, BlobInfo>((await tier.blobs(threadId)).map((info) => [info.hash, info]));
  const needed = new Map<BlobHash, Address>();
  for (const node of kept) for (const hash of namedBy(node)) needed.set(hash, node.record);
  const replaceBlobs: Blob[] = [];
  for (const [hash, at] of needed) {
    const base = infos.get(hash)?.base;
    if (base === undefined || needed.has(base)) continue;
    const { checkpoint } = await tier.read(at);
    if (checkpoint === undefined) needed.set(base, at);
    else replaceBlobs.push(await coder.wholeBlob(at, hash, checkpoint.blobs));
  }
  const named = new Set(thread.nodes.flatMap(namedBy));
  for (const hash of named) {
    const base = infos.get(hash)?.base;
    if (base !== undefined) named.add(base);
  }
  const goes = ({ hash, base }: BlobInfo): boolean =>
    !needed.has(hash) && (named.has(hash) || base !== undefined);
  return { dropBlobs: [...infos.values()].filter(goes).map(({ hash }) => hash), replaceBlobs };
}

function namedBy({ record, writeBlobs }: Node): BlobHash[] {
  return [...record.blobs, ...writeBlobs];
}
