import type { ChannelKind } from "./graphLike.ts";

/** A checkpoint of a root namespace. */
export interface CheckpointRef {
  readonly threadId: string;
  readonly checkpointId: string;
}

/** A channel that both sides changed and no strategy settled. Its values are plain JSON, for people to read. */
export interface PlannedConflict {
  readonly name: string;
  readonly kind: ChannelKind;
  /** The index, in the plan's `sources`, of the source that conflicts with the target. */
  readonly source: number;
  readonly base: unknown;
  readonly ours: unknown;
  readonly theirs: unknown;
  /** Why no strategy settled it. */
  readonly reason: string;
}

/** A merge that waits for answers. It is plain JSON, so that it can be stored, sent, reviewed and applied later. */
export interface MergePlan {
  readonly version: 1;
  readonly target: CheckpointRef;
  readonly sources: readonly CheckpointRef[];
  /** The merge base of each source with the target. */
  readonly bases: readonly string[];
  readonly channels: readonly PlannedConflict[];
}

/** How a person settles a channel: with the value of a side, or with a value of their own, in the form in which the channel holds it. */
export type Answer = "base" | "ours" | "theirs" | { readonly value: unknown };

/** An answer for each channel, by name. */
export type Answers = Readonly<Record<string, Answer>>;
