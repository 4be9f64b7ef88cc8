import type { Checkpoint, CheckpointMetadata } from "@langchain/langgraph-checkpoint";

/** The DeltaChannels of a checkpoint whose values it doesn't hold. LangGraph before 1.5 doesn't report them. */
export function rebuiltChannels({
  checkpoint: { channel_versions: versions, channel_values: values },
  metadata: { counters_since_delta_snapshot: counters = {} },
}: {
  readonly checkpoint: Pick<Checkpoint, "channel_versions" | "channel_values">;
  readonly metadata: CheckpointMetadata;
}): string[] {
  return Object.keys(counters).filter(
    (channel) => Object.hasOwn(versions, channel) && values[channel] === undefined,
  );
}
