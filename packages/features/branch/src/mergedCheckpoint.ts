import {
  DeltaSnapshot,
  maxChannelVersion,
  uuid6,
  type ChannelVersions,
  type Checkpoint,
  type CheckpointMetadata,
} from "@langchain/langgraph-checkpoint";
import type { TierSaver } from "@stratigraph/core";
import { channelsOf, kindOf, type MergeableGraph } from "./graphLike.ts";
import { mergeMark } from "./history.ts";
import { DELTA_WRITES_VERSIONED } from "./langgraph.ts";
import type { MergeSource } from "./mergeChannels.ts";
import { sameValue } from "./plainValue.ts";
import { seenBy, type Version } from "./seenBy.ts";
import type { MergeSide } from "./mergeSide.ts";

/** A checkpoint that is ready to be put on the target. */
export interface Merged {
  readonly checkpoint: Checkpoint;
  readonly metadata: CheckpointMetadata;
  readonly newVersions: ChannelVersions;
}

/**
 * Makes the merge checkpoint: a copy of the leading side's checkpoint, which determines what runs next, with the merged state. Channels
 * whose value differs from the leading side's get a version above all others. Nodes that had seen such a channel also count as having
 * seen the new version, so that the merge itself doesn't start any node.
 */
export function mergedCheckpoint(
  graph: MergeableGraph,
  saver: TierSaver,
  merge: {
    target: MergeSide;
    leading: MergeSide;
    inputs: readonly MergeSource[];
    values: ReadonlyMap<string, unknown>;
  },
): Merged {
  const { target, leading, inputs, values } = merge;
  const specs = channelsOf(graph);
  const sides = [target, ...inputs.map(({ side }) => side)];
  const versions = sides.flatMap(({ checkpoint }) => Object.values(checkpoint.channel_versions));
  const next: Version = saver.getNextVersion(
    versions.length === 0 ? undefined : (maxChannelVersion(...versions) as number),
  );
  const channel_values = { ...leading.checkpoint.channel_values };
  const channel_versions = { ...leading.checkpoint.channel_versions };
  const changed = new Set<string>();
  for (const name of new Set([...values.keys(), ...leading.values.keys()])) {
    const value = values.get(name);
    const delta = kindOf(name, specs.get(name)) === "delta";
    // A DeltaChannel is always stored as a snapshot here, because its writes are spread over the histories of both parents.
    if (!delta && sameValue(value, leading.values.get(name))) continue;
    changed.add(name);
    channel_versions[name] = next;
    // Without a snapshot it would be rebuilt from earlier writes, so if it has no value, an empty snapshot is stored.
    const spec = specs.get(name);
    if (delta) channel_values[name] = new DeltaSnapshot(value ?? spec!.fromCheckpoint().get());
    else if (value === undefined) delete channel_values[name];
    else channel_values[name] = value;
  }
  const step = Math.max(...sides.map(({ metadata }) => metadata.step)) + 1;
  const checkpoint: Checkpoint = {
    ...leading.checkpoint,
    id: uuid6(step),
    ts: new Date().toISOString(),
    channel_values,
    channel_versions,
    versions_seen: seenBy(sides, leading, changed, next),
  };
  const isParents = leading === target;
  const newVersions = Object.fromEntries(
    Object.entries(channel_versions).filter(([name]) => !isParents || changed.has(name)),
  );
  return { checkpoint, newVersions, metadata: metadataOf(merge, step) };
}

function metadataOf(
  { target, inputs }: { target: MergeSide; inputs: readonly MergeSource[] },
  step: number,
): CheckpointMetadata {
  const ref = ({ at }: MergeSide): { thread_id: string; checkpoint_id: string } => ({
    thread_id: at.threadId,
    checkpoint_id: at.checkpointId,
  });
  const also = new Set(
    inputs.flatMap(({ sourcePath }) => sourcePath.flatMap(({ parents }) => parents.slice(1))),
  );
  const merge = {
    ...mergeMark.merge,
    target: ref(target),
    sources: inputs.map(({ side }) => ref(side)),
    bases: inputs.map(({ base }) => base.at.checkpointId),
    ...(also.size === 0 ? {} : { also: [...also] }),
  };
  // Here every DeltaChannel that is known to have been written is stored with a version. That no other one was ever written is certain
  // only if all sides say so.
  const isVersioned = ({ metadata }: MergeSide): boolean =>
    (metadata as { [DELTA_WRITES_VERSIONED]?: unknown })[DELTA_WRITES_VERSIONED] === true;
  const versioned = [target, ...inputs.map(({ side }) => side)].every(isVersioned);
  return {
    source: "update",
    step,
    parents: {},
    ...(versioned ? { [DELTA_WRITES_VERSIONED]: true } : {}),
    merge,
  } as CheckpointMetadata;
}
