import type { ChannelKind } from "./graphLike.ts";

/** A checkpoint of a root namespace. */
export interface CheckpointRef {
  readonly threadId: string;
  readonly checkpointId: string;
}

/** A channel that both sides changed and nothing settles. Values as JSON has them, for reading. */
export interface PlannedConflict {
  readonly name: string;
  readonly kind: ChannelKind;
  /** Which of the plan's sources it came up with. */
  readonly source: number;
  readonly base: unknown;
  readonly ours: unknown;
  readonly theirs: unknown;
  /** Why no strategy settled it. */
  readonly reason: string;
}

/** A merge that waits for answers. Plain JSON: it can be stored, sent, reviewed and applied later. */
export interface MergePlan {
  readonly version: 1;
  readonly target: CheckpointRef;
  readonly sources: readonly CheckpointRef[];
  /** Merge base of each source with the target. */
  readonly bases: readonly string[];
  readonly channels: readonly PlannedConflict[];
}

/** How a person settles a channel: by a side, or by a value of their own (as the channel holds it). */
export type Answer = "base" | "ours" | "theirs" | { readonly value: unknown };

/** Answers per channel. */
export type Answers = Readonly<Record<string, Answer>>;
