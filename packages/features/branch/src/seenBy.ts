import { INTERRUPT, type ChannelVersions, type Checkpoint } from "@langchain/langgraph-checkpoint";
import { SNAPSHOT_BUMPS } from "./langgraph.ts";

/** The version of a channel. */
export type Version = ChannelVersions[string];

interface Side {
  readonly checkpoint: Checkpoint;
}

/**
 * The versions that nodes have seen, for a checkpoint that was made by hand: as in `leading`, but nodes that had seen a changed channel
 * count as having seen its new version, so that the change alone starts no node.
 */
export function seenBy(
  sides: readonly Side[],
  leading: Side,
  changed: ReadonlySet<string>,
  next: Version,
): Checkpoint["versions_seen"] {
  const { versions_seen, channel_versions } = leading.checkpoint;
  const seen = Object.fromEntries(Object.entries(versions_seen).map(([node, of]) => [node, { ...of }]));
  // LangGraph counts an update as that of the node which read last; these entries don't count as reading. LangGraph before 1.5
  // would take the key for a node.
  const bumps = sides.some(({ checkpoint }) => SNAPSHOT_BUMPS in checkpoint.versions_seen)
    ? (seen[SNAPSHOT_BUMPS] ??= {})
    : undefined;
  for (const { checkpoint } of sides) {
    for (const [node, of] of Object.entries(checkpoint.versions_seen)) {
      if (node === INTERRUPT || node === SNAPSHOT_BUMPS) continue;
      for (const channel of Object.keys(of)) {
        if (!changed.has(channel)) continue;
        const last = versions_seen[node]?.[channel];
        const version = channel_versions[channel];
        const pending = version !== undefined && (last === undefined || version > last);
        if (pending) continue;
        (seen[node] ??= {})[channel] = next;
        if (bumps === undefined || bumps[`${node}|${channel}`] === next) continue;
        if (last !== undefined && bumps[`${node}|${channel}`] !== last) bumps[`${node}:${channel}`] = last;
        bumps[`${node}|${channel}`] = next;
      }
    }
  }
  return seen;
}
