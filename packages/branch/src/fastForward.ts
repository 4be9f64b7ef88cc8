import type { Address, TierSaver } from "@stratigraph/core";
import { forkTips } from "./forkTips.ts";
import { gather } from "./gather.ts";
import { outlineOf } from "./outline.ts";
import { moveHead } from "./promote.ts";
import { nextReflog, readReflog } from "./reflog.ts";
import type { Side } from "./side.ts";

/**
 * Moves a target along the checkpoints of a source that descends from its head. In one thread that is a promotion; from
 * another thread the checkpoints are copied, under their ids, with pending writes and subgraphs.
 * @throws CheckpointConflictError where the target moved meanwhile
 */
export async function fastForward(saver: TierSaver, target: Side, source: Side): Promise<Address> {
  const { threadId, checkpointId: from } = target.at;
  if (source.at.threadId === threadId) {
    await moveHead(saver, source.at, "fast-forward");
    return source.at;
  }
  const known = new Set<string>();
  for await (const { record } of saver.tier.list({ threadId, recordsOnly: true })) known.add(keyOf(record));
  // What was written under the head since is part of the line too: DeltaChannels are rebuilt from it.
  const isNew = (at: Address): boolean => !known.has(keyOf(at));
  const outline = await outlineOf(saver, source.at.threadId, source.at.checkpointId);
  const point = { threadId: source.at.threadId, rootId: source.at.checkpointId };
  const tips = await forkTips(saver, point, outline, "full");
  const contents = await gather(saver, source.at.threadId, tips, outline);
  const records = contents.records
    .filter(isNew)
    .map(({ lostTo: _lostTo, ...record }) => ({ ...record, threadId }));
  const writes = contents.writes
    .filter((batch) => isNew(batch) || (batch.namespace === "" && batch.checkpointId === from))
    .map((batch) => ({ ...batch, threadId }));
  const before = await readReflog(saver, threadId);
  const { checkpointId: to } = source.at;
  const sources = [{ threadId: source.at.threadId, checkpointId: to }];
  const move = {
    kind: "fast-forward" as const,
    namespace: "",
    from,
    to,
    ts: new Date().toISOString(),
    sources,
  };
  const reflog = await nextReflog(saver, threadId, before, {
    lineage: before.lineage,
    moves: [...before.moves, move],
  });
  const heads = contents.heads
    .filter(
      (head) =>
        head.namespace === "" || isNew({ threadId, namespace: head.namespace, checkpointId: head.to }),
    )
    .map((head) => ({ ...head, expected: head.namespace === "" ? [from] : ("any" as const) }));
  await saver.tier.append({
    threadId,
    records: [...records, reflog.record],
    blobs: [...contents.blobs, ...reflog.blobs],
    writes,
    heads: [...heads, reflog.head],
    onConflict: "refuse",
    seen: target.revision,
  });
  return { threadId, namespace: "", checkpointId: to };
}

function keyOf(at: { namespace: string; checkpointId: string }): string {
  return JSON.stringify([at.namespace, at.checkpointId]);
}
