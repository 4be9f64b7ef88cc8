import { TASKS } from "@langchain/langgraph-checkpoint";
import { currentWrites } from "@stratigraph/core/internal";
import { channelsOf, kindOf, type MergeableGraph } from "./graphLike.ts";
import type { MergeSide } from "./mergeSide.ts";

/**
 * Whether nothing is due at a checkpoint, judged only by channel versions. This avoids a state snapshot, which would read and decode
 * the checkpoint again. False may also mean that the versions aren't enough to tell.
 */
export function isIdle(graph: MergeableGraph, { stored, checkpoint }: MergeSide): boolean {
  if (graph.nodes === undefined || currentWrites(stored.writes).length > 0) return false;
  const { channel_values, channel_versions, versions_seen } = checkpoint;
  const sends: unknown = channel_values[TASKS];
  if (sends !== undefined && !(Array.isArray(sends) && sends.length === 0)) return false;
  const specs = channelsOf(graph);
  return Object.entries(graph.nodes).every(([node, { triggers }]) =>
    triggers.every((channel) => {
      const version = channel_versions[channel];
      const seen = versions_seen[node]?.[channel];
      if (version === undefined || (seen !== undefined && version <= seen)) return true;
      // A control channel that was written and has been consumed since has a version but no value.
      return kindOf(channel, specs.get(channel)) === "control" && channel_values[channel] === undefined;
    }),
  );
}
