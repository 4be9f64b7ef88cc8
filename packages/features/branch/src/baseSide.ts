import type { TierSaver } from "@stratigraph/core";
import type { MergeableGraph } from "./graphLike.ts";
import type { History } from "./history.ts";
import { nearestCommon, type MergeBase } from "./mergeBase.ts";
import { mergeChannels } from "./mergeChannels.ts";
import { readMergeSide, type MergeSide } from "./mergeSide.ts";
import type { Strategy } from "./strategy.ts";
import { mergeRefused } from "./mergeRefused.ts";

/** The strategies that treat both sides alike. */
const evenHanded: readonly unknown[] = ["union", "reducer"];

/**
 * The state that two histories had in common. If each was merged into the other (a criss-cross merge), there are several nearest
 * common ancestors, and using only one of them would go wrong: a change that one history took over from the other and then reverted
 * would look like no change. So the ancestors are merged with each other first, as git does. If a channel can't be settled in that
 * merge, the value from before the ancestors is used, so that the channel counts as changed on both sides.
 * @throws StratigraphError "MERGE_REFUSED" if an ancestor was pruned
 */
export async function baseSide(
  graph: MergeableGraph,
  saver: TierSaver,
  history: History,
  { all }: MergeBase,
  strategy: (channel: string) => Strategy | undefined,
): Promise<MergeSide> {
  const [first, ...others] = await Promise.all(all.map((id) => sideAt(graph, saver, history, id)));
  let values = first!.values;
  for (const side of others) {
    const [one, other] = [first!.at.checkpointId, side.at.checkpointId];
    const common = nearestCommon(history, one, other);
    if (common === undefined) continue;
    const before = await baseSide(graph, saver, history, common, strategy);
    const input = {
      base: before,
      side,
      sourcePath: history.since(other, one),
      targetPath: history.since(one, other),
    };
    const even = (channel: string): Strategy | undefined => {
      const wanted = strategy(channel);
      return evenHanded.includes(wanted) ? wanted : undefined;
    };
    const settle = { strategy: even, answers: {} };
    const merged = await mergeChannels(graph, saver, { ...first!, values }, history.nodes, [input], settle);
    const settled = new Map(merged.values);
    for (const { name } of merged.conflicts) {
      if (before.values.has(name)) settled.set(name, before.values.get(name));
      else settled.delete(name);
    }
    values = settled;
  }
  return { ...first!, values };
}

async function sideAt(
  graph: MergeableGraph,
  saver: TierSaver,
  history: History,
  checkpointId: string,
): Promise<MergeSide> {
  const threadId = history.nodes.get(checkpointId)?.threadIds[0];
  if (threadId === undefined)
    throw mergeRefused(
      `the merge base ${checkpointId} was pruned`,
      [],
      "Merge before pruning, or take the values over with graph.updateState()",
    );
  return await readMergeSide(graph, saver, { threadId, checkpointId });
}
