import { uuid6, type Checkpoint, type CheckpointMetadata } from "@langchain/langgraph-checkpoint";
import type { TierSaver } from "@stratigraph/core";
import { withoutBytes, type AlsoMoved } from "@stratigraph/core/internal";
import {
  reservedNamespaces,
  type Address,
  type Blob,
  type CheckpointRecord,
  type HeadMove,
} from "@stratigraph/core/tier";

/**
 * The namespace that holds a thread's origin and the recorded moves of its head, as one small checkpoint. Pruning keeps it, because it
 * keeps the newest checkpoint of every namespace. Archiving and copying include it, and LangGraph never asks for this namespace. See
 * docs/decisions/0012-fork-origin.md.
 */
export const reflogNamespace = reservedNamespaces.reflog;

/** How many moves a reflog keeps. Older ones are dropped. */
const rememberedMoves = 128;

const channel = "reflog";

/** The checkpoint of another thread from which a thread was forked. */
export interface Origin {
  readonly threadId: string;
  readonly namespace: string;
  readonly checkpointId: string;
  /** Whether it was the head of its thread then. If so, all later checkpoints of that thread descend from it. */
  readonly wasHead: boolean;
  /** The time, in ISO 8601. */
  readonly ts: string;
}

/** A recorded move of a head, made by one of this package's functions and not by a run. */
export interface Move {
  readonly kind: "promote" | "merge" | "fast-forward" | "edit" | "undo";
  readonly namespace: string;
  /** The head before; undefined if there was none. */
  readonly from?: string | undefined;
  readonly to: string;
  /** The time, in ISO 8601. */
  readonly ts: string;
  /** The checkpoints that were merged. */
  readonly sources?: readonly { readonly threadId: string; readonly checkpointId: string }[] | undefined;
  /** The heads of subgraphs that were moved with it. */
  readonly subgraphs?: readonly AlsoMoved[] | undefined;
}

/** A thread's origins and the recorded moves of its head. */
export interface Reflog {
  /** The origins, nearest first: that of this thread, then that of the thread it was forked from, and so on. */
  readonly lineage: readonly Origin[];
  /** The moves, oldest first. */
  readonly moves: readonly Move[];
}

/** A reflog that was read, with the id of its checkpoint, which a change must replace. */
export interface ReadReflog extends Reflog {
  readonly checkpointId: string | undefined;
}

/** The parts of an append that store a reflog. */
export interface ReflogAppend {
  readonly record: CheckpointRecord;
  readonly blobs: readonly Blob[];
  readonly head: HeadMove;
}

/** Reads a thread's reflog. It is empty if the thread has none. @throws EvictedError, CorruptionError */
export async function readReflog(saver: TierSaver, threadId: string): Promise<ReadReflog> {
  const { checkpoint, head } = await saver.tier.read({ threadId, namespace: reflogNamespace });
  if (checkpoint === undefined && head !== undefined)
    throw await withoutBytes(saver.tier, { threadId, namespace: reflogNamespace, checkpointId: head });
  if (checkpoint === undefined) return { lineage: [], moves: [], checkpointId: undefined };
  const body = await saver.coder.decodeBody(checkpoint.record);
  const { channel_values } = await saver.coder.checkpoint(checkpoint, body, {});
  const { lineage, moves } = channel_values[channel] as Reflog;
  return { lineage, moves, checkpointId: checkpoint.record.checkpointId };
}

/** Encodes the reflog that follows `before`. */
export async function nextReflog(
  saver: TierSaver,
  threadId: string,
  before: ReadReflog,
  reflog: Reflog,
): Promise<ReflogAppend> {
  const checkpointId = uuid6(-1);
  const at: Address = { threadId, namespace: reflogNamespace, checkpointId };
  const checkpoint: Checkpoint = {
    v: 4,
    id: checkpointId,
    ts: new Date().toISOString(),
    channel_values: { [channel]: { lineage: reflog.lineage, moves: reflog.moves.slice(-rememberedMoves) } },
    channel_versions: { [channel]: 1 },
    versions_seen: {},
  };
  const origin = reflog.lineage[0];
  const metadata = {
    source: "fork",
    step: -1,
    parents: {},
    ...(origin === undefined ? {} : { forked_from: origin.threadId }),
  } as CheckpointMetadata;
  const { record, blobs } = await saver.coder.encode(
    at,
    { parentId: undefined, parent: undefined, again: undefined },
    { checkpoint, metadata, newVersions: checkpoint.channel_versions, runId: undefined },
  );
  const expected = before.checkpointId === undefined ? [] : [before.checkpointId];
  return { record, blobs, head: { namespace: reflogNamespace, to: checkpointId, expected } };
}

/** Restores the reflog `before`, because the move recorded in `recorded` failed. Does nothing if the reflog has changed since. */
export async function dropMove(
  saver: TierSaver,
  threadId: string,
  recorded: string,
  before: ReadReflog,
): Promise<void> {
  const now = await readReflog(saver, threadId);
  if (now.checkpointId !== recorded) return;
  const { record, blobs, head } = await nextReflog(saver, threadId, now, before);
  await saver.tier.append({ threadId, records: [record], blobs, heads: [head], onConflict: "refuse" });
}
