import { checkpointKey } from "../contract/keys.ts";
import type { DecodedBody } from "../encode/record.ts";
import { madeAtMs } from "../encode/record.ts";
import type { BlobHash, CheckpointRecord } from "../contract/tier.ts";

/** What pruning has to know of one checkpoint. */
export interface Node {
  readonly record: CheckpointRecord;
  readonly body: DecodedBody;
  /** Bytes of the record and of its pending writes, without values. */
  readonly bytes: number;
  readonly writeBlobs: readonly BlobHash[];
  readonly interrupted: boolean;
  readonly deltaChannels: readonly string[];
  readonly written: ReadonlySet<string>;
  readonly parents: Readonly<Record<string, string>>;
}

/** What pruning has to know of a thread: all of its checkpoints, newest first, and their heads. */
export interface Thread {
  readonly revision: number;
  readonly nodes: readonly Node[];
  /** Records of namespaces that are kept whole. Only their values matter here; {@link heads} doesn't contain their heads. */
  readonly untouched: readonly Pick<Node, "record" | "writeBlobs">[];
  readonly heads: ReadonlyMap<string, string>;
  readonly byKey: ReadonlyMap<string, Node>;
}

/** Says which checkpoints of every namespace stay: those that `keepLast` or `fromMs` keeps, and those that are always kept. */
export interface KeepRule {
  /** How many stay, from the head back. At least 1. */
  readonly keepLast: number;
  /** Checkpoints that were made at this instant or later all stay. Milliseconds since 1970. */
  readonly fromMs?: number | undefined;
}

/**
 * The checkpoints that a rule keeps: in every namespace the newest on the parent chain from its head, and those that are young
 * enough; and every leaf whose interrupt waits for an answer.
 */
export function latest(thread: Thread, { keepLast, fromMs = Number.POSITIVE_INFINITY }: KeepRule): Set<Node> {
  const kept = new Set<Node>();
  const continued = new Set(
    thread.nodes.map(({ record }) => checkpointKey({ ...record, checkpointId: record.parentId ?? "" })),
  );
  for (const node of thread.nodes) {
    const waits = node.interrupted && !continued.has(checkpointKey(node.record));
    if (waits || madeAtMs(node.body) >= fromMs) kept.add(node);
  }
  for (const [namespace, head] of thread.heads) {
    let checkpointId: string | undefined = head;
    for (let n = 0; n < keepLast && checkpointId !== undefined; n += 1) {
      const node = thread.byKey.get(checkpointKey({ namespace, checkpointId }));
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
    thread.byKey.get(checkpointKey({ namespace, checkpointId })),
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
export function withDeltaChains(thread: Thread, kept: Set<Node>): Set<Node> {
  const channels = deltaChannelsOf(thread);
  if (channels.size === 0) return kept;
  for (const node of [...kept]) {
    for (const channel of channels) {
      let at: Node | undefined = node;
      while (at !== undefined && at.body.manifest.get(channel)?.value === undefined) {
        const { namespace, parentId }: CheckpointRecord = at.record;
        at =
          parentId === undefined
            ? undefined
            : thread.byKey.get(checkpointKey({ namespace, checkpointId: parentId }));
        if (at !== undefined) kept.add(at);
      }
    }
  }
  return kept;
}

/** New heads that replace removed ones: the nearest ancestor that stays, or else the newest main-line checkpoint that stays. */
export function headsAfter(thread: Thread, kept: ReadonlySet<Node>): { namespace: string; to?: string }[] {
  const moves: { namespace: string; to?: string }[] = [];
  for (const [namespace, head] of thread.heads) {
    const first = thread.byKey.get(checkpointKey({ namespace, checkpointId: head }));
    if (first === undefined || kept.has(first)) continue;
    let at: Node | undefined = first;
    while (at !== undefined && !kept.has(at)) {
      const { parentId }: CheckpointRecord = at.record;
      at =
        parentId === undefined
          ? undefined
          : thread.byKey.get(checkpointKey({ namespace, checkpointId: parentId }));
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
