import { INTERRUPT } from "@langchain/langgraph-checkpoint";
import { checkpointKey } from "../contract/keys.ts";
import type { CheckpointCoder } from "../encode/checkpointCoder.ts";
import { headlessError, StratigraphError } from "../contract/errors.ts";
import {
  headsAfter,
  latest,
  withDeltaChains,
  type KeepRule,
  type Node,
  type Thread,
} from "./keptCheckpoints.ts";
import { isArchivedElsewhere, refusePart, refuseParts } from "./archivedElsewhere.ts";
import { forgetRunsCalls } from "./deletedRuns.ts";
import { dropLoose } from "./dropLoose.ts";
import type { PruneOptions } from "./pruneOptions.ts";
import { isKeptWhole, isReserved, reservedNamespaces } from "../contract/reservedNamespaces.ts";
import { snapshotTerm } from "../encode/metadataTerms.ts";
import { withoutBytes } from "./withoutBytes.ts";
import type { Address, Blob, BlobHash, BlobInfo, ListedCheckpoint, Tier } from "../contract/tier.ts";

/** How often pruning is tried at most, if the thread is written to meanwhile. */
const attempts = 8;

/** Options of {@link pruneThread}. */
export interface PruneThreadOptions {
  /** Prunes the thread only if it is still at this revision. Default: at any revision. */
  readonly revision?: number | undefined;
  /** Only counts what would be removed. Default false. */
  readonly dryRun?: boolean | undefined;
}

/** What {@link pruneThread} did. */
export interface Pruned {
  /** False if the thread is at another revision than the given one: nothing was done. */
  readonly done: boolean;
  /** How many checkpoints were removed, or would be in a dry run. Records of moved heads aren't counted. */
  readonly checkpoints: number;
  /** How many are left, counted in the same way. */
  readonly kept: number;
  /**
   * Stored bytes of checkpoints, pending writes and values that were freed, or would be in a dry run. If values must be stored whole
   * because their base is removed, the bytes that this takes are subtracted. What the storage itself adds to the bytes isn't counted.
   */
  readonly bytes: number;
}

/**
 * Prunes one thread by "keep_latest", with options that were checked before. An unknown thread is a no-op.
 * @throws EvictedError if a part of the thread is in an archive that isn't open: which checkpoints are its newest can't be told
 */
export async function prune(
  tier: Tier,
  coder: CheckpointCoder,
  threadId: string,
  { keepLast = 1 }: PruneOptions,
): Promise<void> {
  await refusePart(tier, { threadId });
  await pruneThread(tier, coder, threadId, { keepLast });
}

/**
 * Removes the checkpoints that `rule` doesn't keep, except those that kept ones need for their DeltaChannels, and those with
 * unresolved interrupts.
 * @throws StratigraphError "OVERLOADED" if the thread is written to during every attempt; "CORRUPT" or "EVICTED" if the head of a namespace,
 * or the checkpoint that it names, isn't there: nobody can tell what is old then
 */
export async function pruneThread(
  tier: Tier,
  coder: CheckpointCoder,
  threadId: string,
  rule: KeepRule,
  options: PruneThreadOptions = {},
): Promise<Pruned> {
  const keep = async (thread: Thread): Promise<Set<Node>> => {
    const isThread = await refuseLostHeads(tier, threadId, thread);
    return isThread ? withDeltaChains(thread, latest(thread, rule)) : new Set(thread.nodes);
  };
  return await removeWhere(tier, coder, threadId, keep, options);
}

/**
 * Removes the checkpoints of runs, and before them what their calls said and got.
 * @param touched is called for each thread that was changed
 * @throws EvictedError at the end, if a part of any thread is in an archive that isn't open: what else it has of the runs can't be told. Such
 * a thread is left as it was, for what is here may have no ancestor here that could become the head
 */
export async function removeRuns(
  saver: { readonly tier: Tier; readonly coder: CheckpointCoder },
  runIds: readonly string[],
  touched: (threadId: string) => void,
): Promise<void> {
  const { tier, coder } = saver;
  if (runIds.length === 0) return;
  const threads = new Set<string>();
  for await (const { record } of tier.list({ runIds, recordsOnly: true })) threads.add(record.threadId);
  const parts: string[] = [];
  for (const threadId of threads)
    if (await isArchivedElsewhere(tier, threadId)) {
      parts.push(threadId);
      threads.delete(threadId);
    }
  await forgetRunsCalls(saver, threads, runIds);
  const gone = new Set(runIds);
  const stays = ({ record }: Node): boolean => record.runId === undefined || !gone.has(record.runId);
  for (const threadId of threads) {
    try {
      await removeWhere(tier, coder, threadId, async (thread) => {
        await refusePart(tier, { threadId });
        return withDeltaChains(thread, new Set(thread.nodes.filter(stays)));
      });
    } catch (error) {
      if (!StratigraphError.is(error, "EVICTED")) throw error;
      // It was archived meanwhile.
      parts.push(threadId);
      continue;
    }
    // They may come from these runs. If somebody writes meanwhile, they are replaced or evicted later.
    await dropLoose(tier, threadId);
    touched(threadId);
  }
  for (const threadId of parts) await refusePart(tier, { threadId });
  await refuseParts(tier);
}

/**
 * Removes the checkpoints that `keep` leaves out, in one atomic step. If the thread was written to meanwhile, decides again for its
 * newest state, unless a revision is given.
 */
async function removeWhere(
  tier: Tier,
  coder: CheckpointCoder,
  threadId: string,
  keep: (thread: Thread) => Promise<ReadonlySet<Node>>,
  { revision, dryRun = false }: PruneThreadOptions = {},
): Promise<Pruned> {
  for (let attempt = 0; attempt < attempts; attempt += 1) {
    const thread = await load(tier, coder, threadId);
    const all = countOf(thread.nodes);
    if (revision !== undefined && thread.revision !== revision)
      return { done: false, checkpoints: 0, kept: all, bytes: 0 };
    const kept = await keep(thread);
    const gone = thread.nodes.filter((node) => !kept.has(node));
    if (gone.length === 0) return { done: true, checkpoints: 0, kept: all, bytes: 0 };
    const { dropBlobs, replaceBlobs, freed } = await blobsAfter(tier, coder, thread, threadId, kept);
    const bytes = gone.reduce((sum, node) => sum + node.bytes, freed);
    const pruned = { done: true, checkpoints: countOf(gone), kept: countOf(kept), bytes };
    if (dryRun) return pruned;
    const goes = gone.map(({ record }): Address => record);
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
      return pruned;
  }
  throw new StratigraphError(
    "OVERLOADED",
    `Thread ${JSON.stringify(threadId)} was written to during each of ${attempts} attempts to prune it. Prune it when it is idle.`,
    { threadId },
  );
}

/** @returns false if the thread has no heads yet: it is being copied here, or a copy was interrupted */
async function refuseLostHeads(tier: Tier, threadId: string, thread: Thread): Promise<boolean> {
  const { nodes, heads, byKey, revision } = thread;
  for (const { record } of nodes) {
    const { namespace, lostTo } = record;
    if (isReserved(namespace) || lostTo !== undefined) continue;
    const checkpointId = heads.get(namespace);
    if (checkpointId !== undefined && byKey.has(checkpointKey({ namespace, checkpointId }))) continue;
    // It was listed while somebody wrote: nothing is removed by such a view.
    const root = await tier.peek({ threadId, namespace: "" });
    if (root.revision !== revision) return true;
    if (root.head === undefined && root.headless !== true) return false;
    throw checkpointId === undefined
      ? headlessError({ threadId, namespace })
      : await withoutBytes(tier, { threadId, namespace, checkpointId });
  }
  return true;
}

/** How many of the nodes are checkpoints of graphs. */
function countOf(nodes: Iterable<Node>): number {
  return [...nodes].filter(({ record }) => !isReserved(record.namespace)).length;
}

async function load(tier: Tier, coder: CheckpointCoder, threadId: string): Promise<Thread> {
  const { revision } = await tier.peek({ threadId, namespace: "" });
  const nodes: Node[] = [];
  const untouched: Thread["untouched"][number][] = [];
  const heads = new Map<string, string>();
  for await (const listed of tier.list({ threadId, recordsOnly: true })) {
    const { record, writes, head } = listed;
    if (record.namespace === reservedNamespaces.loose) continue;
    if (isKeptWhole(record.namespace)) {
      untouched.push({ record, writeBlobs: writes.flatMap((batch) => batch.blobs) });
      continue;
    }
    nodes.push(await toNode(coder, listed));
    if (head !== undefined) heads.set(record.namespace, head);
  }
  const byKey = new Map(nodes.map((node) => [checkpointKey(node.record), node]));
  return { revision, nodes, untouched, heads, byKey };
}

async function toNode(coder: CheckpointCoder, { record, writes }: ListedCheckpoint): Promise<Node> {
  const body = await coder.decodeBody(record);
  const metadata = await coder.metadata(record, body);
  const channels = await coder.writes.channels(record, writes);
  const snapshots = [...body.manifest.keys()].filter((channel) =>
    record.terms.includes(snapshotTerm(channel)),
  );
  return {
    record,
    body,
    bytes: writes.reduce((sum, batch) => sum + batch.body.length, record.body.length),
    writeBlobs: writes.flatMap((batch) => batch.blobs),
    interrupted: channels.has(INTERRUPT),
    written: channels,
    deltaChannels: [...Object.keys(metadata.counters_since_delta_snapshot ?? {}), ...snapshots],
    parents: metadata.parents ?? {},
  };
}

/**
 * Which of the thread's blobs are dropped, which are rewritten whole because their base is dropped, and how many bytes that frees.
 * Whole blobs that no checkpoint names stay, because they may belong to pending writes that came before their checkpoint. Blobs of such
 * writes are never patches.
 */
async function blobsAfter(
  tier: Tier,
  coder: CheckpointCoder,
  thread: Thread,
  threadId: string,
  kept: ReadonlySet<Node>,
): Promise<{ dropBlobs: BlobHash[]; replaceBlobs: Blob[]; freed: number }> {
  const infos = new Map<BlobHash, BlobInfo>((await tier.blobs(threadId)).map((info) => [info.hash, info]));
  const needed = new Map<BlobHash, Address>();
  for (const node of [...kept, ...thread.untouched])
    for (const hash of namedBy(node)) needed.set(hash, node.record);
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
  const dropped = [...infos.values()].filter(goes);
  const grown = replaceBlobs.map(({ hash, bytes }) => bytes.length - infos.get(hash)!.size);
  const freed = [...dropped.map(({ size }) => size), ...grown.map((more) => -more)].reduce(
    (a, b) => a + b,
    0,
  );
  return { dropBlobs: dropped.map(({ hash }) => hash), replaceBlobs, freed };
}

function namedBy({ record, writeBlobs }: Pick<Node, "record" | "writeBlobs">): BlobHash[] {
  return [...record.blobs, ...writeBlobs];
}
