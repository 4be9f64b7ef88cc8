import type { Checkpoint } from "@langchain/langgraph-checkpoint";
import type { TierSaver } from "@stratigraph/core";
import { configOf } from "@stratigraph/core/internal";
import { currentState, type CurrentState } from "./currentState.ts";
import { channelsOf, kindOf, type MergeableGraph } from "./graphLike.ts";
import { DELTA_WRITES_VERSIONED, type ChannelSpec } from "./langgraph.ts";
import { readPoint, type Point, type ReadPoint } from "./readPoint.ts";

/** One side of a merge: a checkpoint with the values of its state channels. DeltaChannels are rebuilt from their writes. */
export interface MergeSide extends ReadPoint {
  readonly checkpoint: Checkpoint;
  /** What a checkpoint on this side can carry over. */
  readonly manifest: CurrentState["manifest"];
  /** For each state channel, what a checkpoint stores of it. For each DeltaChannel, its rebuilt value. */
  readonly values: ReadonlyMap<string, unknown>;
}

/** Reads one side of a merge. The coder remembers its values, so that merged values can be stored as patches and `getState` is fast. */
export async function readMergeSide(
  graph: MergeableGraph,
  saver: TierSaver,
  point: Point,
): Promise<MergeSide> {
  const read = await readPoint(saver, point);
  const { checkpoint, metadata, manifest } = await currentState(saver, read);
  const specs = channelsOf(graph);
  const values = new Map<string, unknown>();
  const deltas: [string, ChannelSpec][] = [];
  for (const name of new Set([
    ...Object.keys(checkpoint.channel_values),
    ...Object.keys(checkpoint.channel_versions),
  ])) {
    const spec = specs.get(name);
    const kind = kindOf(name, spec);
    if (kind === "delta") deltas.push([name, spec!]);
    else if (kind === "state" && checkpoint.channel_values[name] !== undefined)
      values.set(name, checkpoint.channel_values[name]);
  }
  // Before LangGraph 1.5 the first write to a DeltaChannel could be stored without a version. Then only its writes show that the channel
  // has a value.
  const { [DELTA_WRITES_VERSIONED]: versioned } = metadata as { [DELTA_WRITES_VERSIONED]?: unknown };
  const isHere = new Set(deltas.map(([name]) => name));
  if (versioned !== true)
    for (const [name, spec] of specs)
      if (kindOf(name, spec) === "delta" && !isHere.has(name)) deltas.push([name, spec]);
  const unstored = deltas
    .filter(([name]) => checkpoint.channel_values[name] === undefined)
    .map(([name]) => name);
  const histories = await saver.getDeltaChannelHistory({ config: configOf(read.at), channels: unstored });
  for (const [name, spec] of deltas) {
    const history = histories[name];
    const isWritten = history?.seed !== undefined || (history?.writes.length ?? 0) > 0;
    if (!isHere.has(name) && !isWritten) continue;
    const channel = spec.fromCheckpoint(checkpoint.channel_values[name] ?? history?.seed);
    if (history !== undefined) channel.replayWrites!(history.writes);
    values.set(name, channel.get());
  }
  return { ...read, metadata, checkpoint, manifest, values };
}
