import type { Checkpoint, CheckpointMetadata } from "@langchain/langgraph-checkpoint";
import type { TierSaver } from "@stratigraph/core";
import { convertCheckpoint, type DecodedBody } from "@stratigraph/core/internal";
import type { ReadPoint } from "./readPoint.ts";

/** A checkpoint as the saver's version of the state has it, for what is written next. */
export interface CurrentState {
  readonly checkpoint: Checkpoint;
  readonly metadata: CheckpointMetadata;
  /** What the next checkpoint can carry over. */
  readonly manifest: DecodedBody["manifest"];
  /** Which channels have a version, and which of these a value. */
  readonly channels: Pick<DecodedBody, "manifest">;
}

/**
 * Leads a checkpoint to the saver's version of the state. The coder remembers its values.
 * @throws StratigraphError "STATE_VERSION", "STATE_STEP_FAILED"; CorruptionError
 */
export async function currentState(
  saver: TierSaver,
  { at, stored, body, metadata }: ReadPoint,
): Promise<CurrentState> {
  const { stateVersions: versions } = saver;
  const read = await saver.coder.checkpoint(stored, body, { remember: true });
  const found = await convertCheckpoint(versions, at, body.stateVersion, read, metadata);
  const { channel_values: values, channel_versions } = found.checkpoint;
  const entries = Object.entries(channel_versions).map(([channel, version]) => {
    const value = Object.hasOwn(values, channel) ? { type: "", bytes: new Uint8Array() } : undefined;
    return [channel, { channel, version, value }] as const;
  });
  return {
    ...found,
    manifest: versions.manifest(at, body.stateVersion, body.manifest),
    channels: body.stateVersion === versions.current ? body : { manifest: new Map(entries) },
  };
}
