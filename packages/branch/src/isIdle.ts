import { TASKS } from "@langchain/langgraph-checkpoint";
import { currentWrites } from "@stratigraph/core";
import { channelsOf, kindOf, type MergeableGraph } from "./graphLike.ts";
import type { Side } from "./mergeSide.ts";

/**
 * Whether nothing is due at a checkpoint, told by its versions alone: spares a state snapshot, which would read and build it
 * all again. False may also mean that it can't be told.
 */
export function isIdle(graph: MergeableGraph, { stored, checkpoint }: Side): boolean {
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
      // Written since, and used up: such a channel has a version and no value.
      return kindOf(channel, specs.get(channel)) === "control" && channel_values[channel] === undefined;
    }),
  );
}
