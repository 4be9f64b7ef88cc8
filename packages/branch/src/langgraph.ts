/** Names that LangGraph uses in checkpoints and pending writes, and its checkpoint package does not export. */

/** Channel of the node whose error is handled, from LangGraph 1.5 on. */
export const ERROR_SOURCE = "__error_source_node__";
/**
 * Key of checkpoint metadata, from LangGraph 1.5 on: all DeltaChannel writes that led to the checkpoint have versions, so a
 * DeltaChannel without a version was never written, and isn't looked for.
 */
export const DELTA_WRITES_VERSIONED = "delta_writes_versioned";
/** Key of versions_seen, from LangGraph 1.5 on: versions that nodes didn't read, but count as having seen. No node. */
export const SNAPSHOT_BUMPS = "__snapshot_bumps__";
/** A channel of a compiled graph, as far as merging needs it. */
export interface ChannelSpec {
  readonly lc_graph_name: string;
  fromCheckpoint(value?: unknown): ChannelSpec;
  update(values: unknown[]): boolean;
  get(): unknown;
  checkpoint(): unknown;
  isAvailable(): boolean;
  replayWrites?(writes: readonly unknown[]): void;
}

/** Whether something in a graph's `channels` is a channel (managed values are there too). */
export function isChannel(value: unknown): value is ChannelSpec {
  return (
    typeof value === "object" &&
    value !== null &&
    (value as { lg_is_channel?: unknown }).lg_is_channel === true
  );
}
