/** Names that LangGraph uses in checkpoints and pending writes but doesn't export from its checkpoint package. */

/** The channel that names the node whose error is handled. Since LangGraph 1.5. */
export const ERROR_SOURCE = "__error_source_node__";
/**
 * A key of checkpoint metadata, since LangGraph 1.5. It means that all DeltaChannel writes that led to the checkpoint have versions. So
 * a DeltaChannel without a version was never written, and its writes needn't be searched for.
 */
export const DELTA_WRITES_VERSIONED = "delta_writes_versioned";
/**
 * A key of versions_seen that isn't a node's name, since LangGraph 1.5. It holds versions that nodes count as having seen without
 * reading them.
 */

export const SNAPSHOT_BUMPS = "__snapshot_bumps__";
/** The parts of a compiled graph's channel that merging needs. */
export interface ChannelSpec {
  readonly lc_graph_name: string;
  fromCheckpoint(value?: unknown): ChannelSpec;
  update(values: unknown[]): boolean;
  get(): unknown;
  checkpoint(): unknown;
  isAvailable(): boolean;
  replayWrites?(writes: readonly unknown[]): void;
  /** Whether what both sides of a merge hold is joined by `update`, whatever strategy is asked for: the journal's channel. */
  readonly joinsSides?: boolean;
}

/** Whether an entry of a graph's `channels` is a channel. Managed values are there too. */
export function isChannel(value: unknown): value is ChannelSpec {
  return (
    typeof value === "object" &&
    value !== null &&
    (value as { lg_is_channel?: unknown }).lg_is_channel === true
  );
}
