import type { TierSaver } from "@stratigraph/core";
import {
  batchDigest,
  childrenOf,
  currentWrites,
  outlineOf,
  rewindTask,
  type Node,
} from "@stratigraph/core/internal";
import { checkpointKey, type Address, type StoredWriteBatch, type WriteBatch } from "@stratigraph/core/tier";
import { callMoves } from "./callMoves.ts";
import { forkTips } from "./forkTips.ts";
import { readForkSource, type ForkSource } from "./readForkSource.ts";
import { headMoved } from "./headMoved.ts";
import { moveHead } from "./promote.ts";
import { nextReflog, readReflog, type Move } from "./reflog.ts";
import type { ReadPoint } from "./readPoint.ts";

/**
 * Moves the target's head forward to a source that descends from it. Within one thread only the head moves. From another thread the
 * checkpoints in between are copied with their ids, pending writes and subgraphs, and the tool calls that the source made.
 * @throws CheckpointConflictError if the target's head moves meanwhile
 */
export async function fastForward(saver: TierSaver, target: ReadPoint, source: ReadPoint): Promise<Address> {
  const { threadId, checkpointId: from } = target.at;
  const before = await readReflog(saver, threadId);
  const known = new Map<string, Node>();
  const heads = new Map<string, string>();
  for await (const listed of saver.tier.list({ threadId, recordsOnly: true })) {
    known.set(checkpointKey(listed.record), listed);
    if (listed.head !== undefined) heads.set(listed.record.namespace, listed.head);
  }
  const isNew = (at: Omit<Address, "threadId">): boolean => !known.has(checkpointKey(at));
  const { checkpointId: to } = source.at;
  const at: Address = { threadId, namespace: "", checkpointId: to };
  // Either the source is a side branch of the target itself, or an earlier merge that was undone has copied it.
  if (!isNew(at)) {
    await moveHead(saver, at, { kind: "fast-forward", from, before });
    return at;
  }
  const outline = await outlineOf(saver.tier, source.at.threadId, source.at.checkpointId);
  const point = { threadId: source.at.threadId, rootId: source.at.checkpointId };
  const tips = await forkTips(saver, point, outline, { history: "full", calls: "none" });
  const [contents, calls] = await Promise.all([
    readForkSource(saver, source.at.threadId, tips, outline),
    callMoves(saver, threadId, [source.at.threadId]),
  ]);
  const records = contents.records
    .filter(isNew)
    .map(({ lostTo: _lostTo, ...record }) => ({ ...record, threadId }));
  const writes = contents.writes.filter(isNew).map((batch) => ({ ...batch, threadId }));
  const under = await writesUnder(saver, target, contents, [...known.values()]);
  const moves = contents.heads
    .filter(({ namespace, to }) => namespace === "" || isNew({ namespace, checkpointId: to }))
    .map((head) => ({ ...head, expected: head.namespace === "" ? [from] : ("any" as const) }));
  const subgraphs = moves.flatMap(({ namespace, to }) => {
    const was = heads.get(namespace);
    return namespace === "" || was === undefined ? [] : [{ namespace, from: was, to }];
  });
  const move: Move = {
    kind: "fast-forward",
    namespace: "",
    from,
    to,
    ts: new Date().toISOString(),
    sources: [{ threadId: source.at.threadId, checkpointId: to }],
    ...(subgraphs.length === 0 ? {} : { subgraphs }),
  };
  const next = { lineage: before.lineage, moves: [...before.moves, move] };
  const reflog = await nextReflog(saver, threadId, before, next);
  try {
    await saver.tier.append({
      threadId,
      records: [...records, ...calls.records, reflog.record],
      blobs: [...contents.blobs, ...calls.blobs, ...reflog.blobs],
      writes: [...under, ...writes],
      heads: [...moves, ...calls.heads, reflog.head],
      onConflict: "refuse",
      seen: target.revision,
    });
  } catch (error) {
    throw headMoved(error, "The merge", at, from);
  }
  return at;
}

/**
 * The pending writes of the target's head that the source stored after it was forked. They are copied too, because DeltaChannels are
 * rebuilt from them. A rewind mark separates them from what the head's own step had written, so that undo restores that.
 */
async function writesUnder(
  saver: TierSaver,
  { at, stored }: ReadPoint,
  { records, writes }: ForkSource,
  known: readonly Node[],
): Promise<(Address & WriteBatch)[]> {
  const child = records.find(({ namespace, parentId }) => namespace === "" && parentId === at.checkpointId);
  const own = writes.filter(
    ({ namespace, checkpointId }) => namespace === "" && checkpointId === at.checkpointId,
  );
  const brought = currentWrites(own, child?.checkpointId);
  const had: readonly StoredWriteBatch[] = currentWrites(stored.writes);
  const digests = new Set(had.map(batchDigest));
  const added = brought
    .filter((batch) => !digests.has(batchDigest(batch)))
    .map((batch) => ({ ...batch, threadId: at.threadId }));
  const roots = new Map(
    known.filter(({ record }) => record.namespace === "").map((node) => [node.record.checkpointId, node]),
  );
  const made = childrenOf(roots, stored);
  if (had.length === 0 && made.length === 0) return added;
  const kept = new Set(brought.map(batchDigest));
  const keep = [...digests].filter((digest) => kept.has(digest));
  const mark = rewindTask({ made, before: [...digests], keep, undoable: true });
  return [{ ...at, ...(await saver.coder.writes.encodeMark(at, mark)) }, ...added];
}
