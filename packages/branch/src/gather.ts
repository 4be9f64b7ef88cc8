import { INTERRUPT, RESUME } from "./langgraph.ts";
import { StratigraphError } from "@stratigraph/core";
import type {
  Address,
  Blob,
  BlobHash,
  CheckpointRecord,
  ListedCheckpoint,
  StoredCheckpoint,
  StoredWriteBatch,
  TierSaver,
  WriteBatch,
} from "@stratigraph/core";
import { deltaAncestors } from "./deltaAncestors.ts";
import type { ReadPoint } from "./point.ts";
import { reflogNamespace } from "./reflog.ts";

/** More checkpoints than this are read with one listing rather than one by one. */
const readSingly = 4;

/** What a fork takes along, under the ids of the source. Encoded bytes stay as they are. */
export interface Gathered {
  /** Parents before children. */
  readonly records: readonly CheckpointRecord[];
  readonly blobs: readonly Blob[];
  /** Oldest first. */
  readonly writes: readonly (Address & WriteBatch)[];
  readonly heads: readonly { readonly namespace: string; readonly to: string }[];
}

/** A thread's records, namespace by namespace. */
type Records = ReadonlyMap<string, ReadonlyMap<string, ListedCheckpoint>>;

/** A namespace's head in the fork, and whether its pending writes are wound back to when it first asked. */
interface Tip {
  readonly at: Address;
  readonly rewound: boolean;
}

/** Every checkpoint of a thread without payloads, newest first in each namespace. */
async function listRecords(saver: TierSaver, threadId: string): Promise<Records> {
  const found = new Map<string, Map<string, ListedCheckpoint>>();
  for await (const listed of saver.tier.list({ threadId, recordsOnly: true })) {
    const { namespace, checkpointId } = listed.record;
    if (namespace === reflogNamespace) continue;
    const records = found.get(namespace) ?? new Map<string, ListedCheckpoint>();
    found.set(namespace, records.set(checkpointId, listed));
  }
  return found;
}

/** A checkpoint and its ancestors that are here, nearest first. */
export function line(
  records: ReadonlyMap<string, { readonly record: CheckpointRecord }> | undefined,
  from: string,
): CheckpointRecord[] {
  const found: CheckpointRecord[] = [];
  for (let next = records?.get(from); next !== undefined;) {
    found.push(next.record);
    const { parentId } = next.record;
    next = parentId === undefined || found.length > records!.size ? undefined : records!.get(parentId);
  }
  return found;
}

/**
 * What a thread needs that begins at `from`: the checkpoint, the ancestors its DeltaChannels are rebuilt from, pending
 * writes, and the subgraphs as they were at that point; with `history: "full"` all ancestors too.
 */
export async function gather(
  saver: TierSaver,
  from: ReadPoint,
  history: "needed" | "full",
): Promise<Gathered> {
  const { threadId, namespace, checkpointId } = from.at;
  const records = await listRecords(saver, threadId);
  const rootId = namespace === "" ? checkpointId : from.metadata.parents?.[""];
  const roots = records.get("");
  if (rootId === undefined || roots?.get(rootId) === undefined) {
    throw new StratigraphError(
      "NOT_FOUND",
      `Checkpoint ${checkpointId} belongs to a step of checkpoint ${rootId ?? "(none)"}, which thread ${JSON.stringify(threadId)} no longer has. Fork from a checkpoint of the root namespace.`,
      { ...from.at },
    );
  }
  const head = [...roots.values()][0]?.head;
  const continued = rootId !== head && [...roots.values()].some(({ record }) => record.parentId === rootId);
  const tips: Tip[] = [{ at: { threadId, namespace: "", checkpointId: rootId }, rewound: continued }];
  const ancestors = new Set(line(roots, rootId).map((record) => record.checkpointId));
  for (const [name, nodes] of records) {
    if (name === "") continue;
    const tip =
      name === namespace
        ? { at: from.at, rewound: false }
        : await subgraphTip(saver, nodes, { rootId, ancestors, continued, full: history === "full" });
    if (tip !== undefined) tips.push(tip);
  }
  const wanted = new Map<string, CheckpointRecord>();
  for (const { at } of tips) {
    const nodes = records.get(at.namespace)!;
    const chain = history === "full" ? line(nodes, at.checkpointId) : await deltaAncestors(saver, nodes, at);
    for (const record of [nodes.get(at.checkpointId)!.record, ...chain]) wanted.set(keyOf(record), record);
  }
  return await collect(saver, from.stored, wanted, tips);
}

/** Where a subgraph's namespace stood at a root checkpoint; undefined where it hadn't begun, or is spent. */
async function subgraphTip(
  saver: TierSaver,
  nodes: ReadonlyMap<string, ListedCheckpoint>,
  at: { rootId: string; ancestors: ReadonlySet<string>; continued: boolean; full: boolean },
): Promise<Tip | undefined> {
  let asked: Address | undefined;
  for (const { record, writes } of nodes.values()) {
    if (record.lostTo !== undefined) continue;
    const { parents = {} } = await saver.coder.metadata(record, await saver.coder.decodeBody(record));
    const outer = parents[""];
    if (outer === at.rootId) {
      if (!at.continued) return { at: record, rewound: false };
      // The step went on since: the fork is to find it as it was when it first asked, or not begun.
      if ((await saver.coder.writtenChannels(record, writes)).has(INTERRUPT)) asked = record;
      continue;
    }
    if (asked !== undefined) break;
    // A namespace that names a task is that task's alone; one that doesn't goes on from step to step.
    const persists = !record.namespace.includes(":") || at.full;
    if (persists && outer !== undefined && at.ancestors.has(outer)) return { at: record, rewound: false };
  }
  return asked === undefined ? undefined : { at: asked, rewound: true };
}

/** Reads the wanted checkpoints with their payloads. */
async function collect(
  saver: TierSaver,
  known: StoredCheckpoint,
  wanted: ReadonlyMap<string, CheckpointRecord>,
  tips: readonly Tip[],
): Promise<Gathered> {
  const { threadId } = known.record;
  const blobs = new Map<BlobHash, Blob>();
  const writes: (Address & StoredWriteBatch)[] = [];
  const rewound = new Map(tips.map((tip) => [keyOf(tip.at), tip.rewound]));
  const take = async (stored: StoredCheckpoint): Promise<void> => {
    const { namespace, checkpointId } = stored.record;
    const at = { threadId, namespace, checkpointId };
    const batches =
      rewound.get(keyOf(at)) === true ? await whenFirstAsked(saver, at, stored.writes) : stored.writes;
    for (const batch of batches) writes.push({ ...at, ...batch });
    const needed = new Set([...stored.record.blobs, ...batches.flatMap((batch) => batch.blobs)]);
    for (const hash of needed) {
      const blob = stored.blobs.get(hash);
      if (blob === undefined) continue;
      blobs.set(hash, blob);
      if (blob.base !== undefined) needed.add(blob.base);
    }
  };
  if (wanted.size <= readSingly) {
    for (const record of wanted.values()) {
      const isKnown = keyOf(record) === keyOf(known.record);
      const checkpoint = isKnown ? known : (await saver.tier.read(record)).checkpoint;
      if (checkpoint !== undefined) await take(checkpoint);
    }
  } else {
    for await (const stored of saver.tier.list({ threadId }))
      if (wanted.has(keyOf(stored.record))) await take(stored);
  }
  return {
    records: inOrder([...wanted.values()]),
    blobs: [...blobs.values()],
    writes: writes.sort((a, b) => a.order - b.order).map(({ order: _order, ...batch }) => batch),
    heads: tips.map(({ at }) => ({ namespace: at.namespace, to: at.checkpointId })),
  };
}

/** Parents before children. */
export function inOrder(records: readonly CheckpointRecord[]): CheckpointRecord[] {
  const byKey = new Map(records.map((record) => [keyOf(record), record]));
  const ordered = new Set<CheckpointRecord>();
  for (const record of records) {
    const chain: CheckpointRecord[] = [];
    for (let next: CheckpointRecord | undefined = record; next !== undefined && !ordered.has(next);) {
      chain.push(next);
      const { namespace, parentId }: CheckpointRecord = next;
      next = parentId === undefined ? undefined : byKey.get(keyOf({ namespace, checkpointId: parentId }));
    }
    for (const one of chain.reverse()) ordered.add(one);
  }
  return [...ordered];
}

/**
 * Pending writes of a step that went on since, as they were when each of its interrupted tasks first asked: an answer
 * given later, and what came of it, stay behind. Where nothing asked, the step runs again, with no writes.
 */
async function whenFirstAsked(
  saver: TierSaver,
  at: Address,
  batches: readonly StoredWriteBatch[],
): Promise<StoredWriteBatch[]> {
  const channels = await Promise.all(batches.map((batch) => saver.coder.writtenChannels(at, [batch])));
  const asked = new Map<string, number>();
  for (const [index, { taskId }] of batches.entries())
    if (channels[index]!.has(INTERRUPT) && !asked.has(taskId)) asked.set(taskId, index);
  if (asked.size === 0) return [];
  return batches.filter(({ taskId }, index) => {
    if (channels[index]!.has(RESUME)) return false;
    return index <= (asked.get(taskId) ?? index);
  });
}

function keyOf(at: { namespace: string; checkpointId: string }): string {
  return JSON.stringify([at.namespace, at.checkpointId]);
}
