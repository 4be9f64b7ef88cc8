import type { TierSaver } from "@stratigraph/core";
import { outlineOf, readThread, type Outline } from "@stratigraph/core/internal";
import type { Address, Blob, CheckpointRecord, HeadMove, WriteBatch } from "@stratigraph/core/tier";
import { parentsFirst } from "./parentsFirst.ts";
import type { MergeSource } from "./mergeChannels.ts";
import type { MergeSide } from "./mergeSide.ts";
import { mergeRefused } from "./mergeRefused.ts";

/** The parts of an append that copy subgraphs to the target. */
export interface SubgraphMoves {
  readonly records: readonly CheckpointRecord[];
  readonly blobs: readonly Blob[];
  readonly writes: readonly (Address & WriteBatch)[];
  readonly heads: readonly HeadMove[];
}

/**
 * What the sources did since the merge base in subgraphs that keep their state from step to step. (The namespaces of these name no
 * task.) It is copied into the target if the target did nothing in the same subgraph.
 * @throws StratigraphError "MERGE_REFUSED" if both sides have continued in the same subgraph
 */
export async function subgraphMoves(
  saver: TierSaver,
  target: MergeSide,
  inputs: readonly MergeSource[],
): Promise<SubgraphMoves> {
  const moved = {
    records: [] as CheckpointRecord[],
    blobs: [] as Blob[],
    writes: [] as (Address & WriteBatch)[],
    heads: [] as HeadMove[],
  };
  const { threadId } = target.at;
  const own = new Map<string, readonly string[]>();
  let ours: Promise<Outline> | undefined;
  for (const { side } of inputs) {
    if (side.at.threadId === threadId) continue;
    const theirs = await outlineOf(saver.tier, side.at.threadId);
    for (const namespace of theirs.heads.keys()) {
      // A namespace with a colon names a task and belongs to that task alone.
      if (namespace.includes(":")) continue;
      ours ??= outlineOf(saver.tier, threadId);
      const had = own.get(namespace) ?? [...(await (await ours).nodes(namespace)).keys()];
      const ids = [...(await theirs.nodes(namespace)).keys()];
      const added = ids.filter((id) => !had.includes(id));
      if (added.length === 0) continue;
      // A fork copies the newest checkpoint of a namespace. So if the target has done nothing there since, the source has the target's
      // head.
      if (had[0] !== undefined && !ids.includes(had[0]))
        throw mergeRefused(
          `both sides went on in the subgraph ${JSON.stringify(namespace)}, which keeps its own state`,
          [],
          "Merge a checkpoint from before one of them did; what came after it can be taken over with graph.updateState()",
        );
      const contents = await readThread(saver.tier, side.at.threadId, threadId);
      const wanted = new Set(added);
      const isWanted = (at: Address): boolean => at.namespace === namespace && wanted.has(at.checkpointId);
      moved.records.push(...parentsFirst(contents.records.filter(isWanted)));
      moved.writes.push(...contents.writes.filter(isWanted));
      moved.blobs.push(...contents.blobs);
      const to = contents.heads.find((head) => head.namespace === namespace)?.to;
      const [before] = had;
      if (to !== undefined)
        moved.heads.push({ namespace, to, expected: before === undefined ? [] : [before] });
      own.set(namespace, [...added, ...had]);
    }
  }
  return moved;
}
