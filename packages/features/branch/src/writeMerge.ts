import type { TierSaver } from "@stratigraph/core";
import type { Address, Blob, CheckpointRecord, HeadMove, WriteBatch } from "@stratigraph/core/tier";
import { callMoves } from "./callMoves.ts";
import { headMoved } from "./headMoved.ts";
import type { History } from "./history.ts";
import type { MergeSource } from "./mergeChannels.ts";
import type { Merged } from "./mergedCheckpoint.ts";
import { nextReflog } from "./reflog.ts";
import type { MergeSide } from "./mergeSide.ts";
import { subgraphMoves } from "./subgraphMoves.ts";

/**
 * Writes a merge in one append: the checkpoint, what the sources did in subgraphs that keep their state, their tool calls, and the record of the
 * move. It
 * calls the tier and not the saver's put, which with `conflict: "branch"` would store a merge that lost the race as a side branch.
 * @throws CheckpointConflictError if the target's head moves meanwhile; nothing was written then
 */
export async function writeMerge(
  saver: TierSaver,
  history: History,
  target: MergeSide,
  inputs: readonly MergeSource[],
  merged: Merged,
): Promise<Address> {
  const { threadId, checkpointId: from } = target.at;
  const at: Address = { threadId, namespace: "", checkpointId: merged.checkpoint.id };
  const put = { ...merged, runId: undefined, stateVersion: saver.stateVersions.current };
  const before = { parentId: from, parent: target.manifest, again: undefined };
  const threads = inputs.map(({ side }) => side.at.threadId);
  const [encoded, moved, calls] = await Promise.all([
    saver.coder.encode(at, before, put),
    subgraphMoves(saver, target, inputs),
    callMoves(saver, threadId, threads),
  ]);
  const reflogBefore = history.reflogs.get(threadId)!;
  const ts = new Date().toISOString();
  const sources = inputs.map(({ side }) => ({
    threadId: side.at.threadId,
    checkpointId: side.at.checkpointId,
  }));
  const move = { kind: "merge" as const, namespace: "", from, to: at.checkpointId, ts, sources };
  const reflog = await nextReflog(saver, threadId, reflogBefore, {
    lineage: reflogBefore.lineage,
    moves: [...reflogBefore.moves, move],
  });
  const head: HeadMove = { namespace: "", to: at.checkpointId, expected: [from] };
  const records: CheckpointRecord[] = [...moved.records, ...calls.records, encoded.record, reflog.record];
  const blobs: Blob[] = [...moved.blobs, ...calls.blobs, ...encoded.blobs, ...reflog.blobs];
  const writes: (Address & WriteBatch)[] = [...moved.writes];
  try {
    await saver.tier.append({
      threadId,
      records,
      blobs,
      writes,
      relies: encoded.relies,
      heads: [head, ...moved.heads, ...calls.heads, reflog.head],
      onConflict: "refuse",
      seen: target.revision,
    });
  } catch (error) {
    throw headMoved(error, "The merge", at, from);
  }
  return at;
}
