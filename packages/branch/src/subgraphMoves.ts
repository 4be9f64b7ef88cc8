import {
  readThread,
  type Address,
  type Blob,
  type CheckpointRecord,
  type HeadMove,
  type TierSaver,
  type WriteBatch,
} from "@stratigraph/core";
import { inOrder } from "./inOrder.ts";
import type { MergeInput } from "./mergeChannels.ts";
import { reflogNamespace } from "./reflog.ts";
import type { Side } from "./side.ts";
import { refused } from "./unfinished.ts";

/** Parts of an append. */
export interface Moved {
  readonly records: readonly CheckpointRecord[];
  readonly blobs: readonly Blob[];
  readonly writes: readonly (Address & WriteBatch)[];
  readonly heads: readonly HeadMove[];
}

/**
 * What the sources did, since the merge base, in subgraphs that persist from step to step (their namespaces name no
 * task): it goes along where the target did nothing there.
 * @throws StratigraphError "MERGE_REFUSED" where both sides went on in one such namespace
 */
export async function subgraphMoves(
  saver: TierSaver,
  target: Side,
  inputs: readonly MergeInput[],
): Promise<Moved> {
  const moved = {
    records: [] as CheckpointRecord[],
    blobs: [] as Blob[],
    writes: [] as (Address & WriteBatch)[],
    heads: [] as HeadMove[],
  };
  const { threadId } = target.at;
  let own: Map<string, string[]> | undefined;
  for (const { side } of inputs) {
    if (side.at.threadId === threadId) continue;
    const theirs = await persistent(saver, side.at.threadId);
    if (theirs.size === 0) continue;
    own ??= await persistent(saver, threadId);
    for (const [namespace, ids] of theirs) {
      const ours = own.get(namespace) ?? [];
      const added = ids.filter((id) => !ours.includes(id));
      if (added.length === 0) continue;
      // The fork took the newest one along, so a target that did nothing since has a head that the source knows.
      if (ours[0] !== undefined && !ids.includes(ours[0]))
        throw refused(
          `both sides went on in the subgraph ${JSON.stringify(namespace)}, which keeps its own state`,
        );
      const contents = await readThread(saver.tier, side.at.threadId, threadId);
      const wanted = new Set(added);
      const isWanted = (at: Address): boolean => at.namespace === namespace && wanted.has(at.checkpointId);
      moved.records.push(...inOrder(contents.records.filter(isWanted)));
      moved.writes.push(...contents.writes.filter(isWanted));
      moved.blobs.push(...contents.blobs);
      const to = contents.heads.find((head) => head.namespace === namespace)?.to;
      const [before] = ours;
      if (to !== undefined)
        moved.heads.push({ namespace, to, expected: before === undefined ? [] : [before] });
      own.set(namespace, [...added, ...ours]);
    }
  }
  return moved;
}

/** Checkpoint ids of namespaces that persist, newest first. */
async function persistent(saver: TierSaver, threadId: string): Promise<Map<string, string[]>> {
  const found = new Map<string, string[]>();
  for await (const { record } of saver.tier.list({ threadId, recordsOnly: true })) {
    const { namespace, checkpointId } = record;
    if (namespace === "" || namespace === reflogNamespace || namespace.includes(":")) continue;
    found.set(namespace, [...(found.get(namespace) ?? []), checkpointId]);
  }
  return found;
}
