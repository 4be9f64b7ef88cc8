import type { ChannelKind } from "./graphLike.ts";

/** A checkpoint of a root namespace. */
export interface CheckpointRef {
  readonly threadId: string;
  readonly checkpointId: string;
}

/** A channel that both sides changed and nothing settles. Its values are plain JSON, for people to read. */
export interface PlannedConflict {
  readonly name: string;
  readonly kind: ChannelKind;
  /** Index of the source, among the plan's, whose merge met this conflict. */
  readonly source: number;
  readonly base: unknown;
  readonly ours: unknown;
  readonly theirs: unknown;
  /** Why no strategy settled it. */
  readonly reason: string;
}

/** A merge that waits for answers. It is plain JSON, so it can be stored, sent, reviewed and applied later. */
export interface MergePlan {
  readonly version: 1;
  readonly target: CheckpointRef;
  readonly sources: readonly CheckpointRef[];
  /** The merge base of each source with the target. */
  readonly bases: readonly string[];
  readonly channels: readonly PlannedConflict[];
}

/** How a person settles a channel: by a side, or by a value of their own (as the channel holds it). */
export type Answer = "base" | "ours" | "theirs" | { readonly value: unknown };

/** An answer for each channel, by name. */
export type Answers = Readonly<Record<string, Answer>>;
