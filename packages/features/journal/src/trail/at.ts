import type { TierSaver } from "@stratigraph/core";
import { reservedNamespaces } from "@stratigraph/core/tier";
import { decodeEntry, journalNamespace } from "../log/records.ts";
import type { TrailHead } from "./line.ts";

/** A checkpoint in the form that graphs accept. */
export interface CheckpointConfig {
  readonly configurable: {
    readonly thread_id: string;
    readonly checkpoint_ns: string;
    readonly checkpoint_id: string;
  };
}

/** The state of a thread at a moment. */
export interface Moment {
  /** The checkpoint that was the head then: for `graph.getState`, or to fork from. Undefined if the thread had none yet. */
  readonly checkpoint: CheckpointConfig | undefined;
  /** Since when it was the head. */
  readonly since: Date | undefined;
  /** The last entry of the journal then; `seq` 0 if there was none, or it was cut off since. */
  readonly trail: TrailHead;
}

/** A head, and since when. */
interface HeadSince {
  readonly checkpointId: string;
  readonly ms: number;
}

/**
 * The state of a thread at a moment, by the clocks of the processes that wrote to it. The head was the checkpoint that was put last, or a
 * checkpoint to which the head was moved after that (promoted, merged, undone); threads note such moves.
 */
export async function momentOf(saver: TierSaver, threadId: string, date: Date): Promise<Moment> {
  const untilMs = date.getTime();
  const [put, moved, trail] = await Promise.all([
    lastPut(saver, threadId, untilMs),
    lastMove(saver, threadId, untilMs),
    lastEntry(saver, threadId, untilMs),
  ]);
  const head = moved !== undefined && (put === undefined || moved.ms >= put.ms) ? moved : put;
  if (head === undefined) return { checkpoint: undefined, since: undefined, trail };
  const configurable = { thread_id: threadId, checkpoint_ns: "", checkpoint_id: head.checkpointId };
  return { checkpoint: { configurable }, since: new Date(head.ms), trail };
}

async function lastPut(saver: TierSaver, threadId: string, untilMs: number): Promise<HeadSince | undefined> {
  for await (const { record } of saver.tier.list({ threadId, namespace: "", recordsOnly: true })) {
    // A checkpoint that lost a race was never the head.
    if (record.lostTo !== undefined) continue;
    const { header } = await saver.coder.decodeBody(record);
    const ms = Date.parse(header.ts);
    if (ms <= untilMs) return { checkpointId: record.checkpointId, ms };
  }
  return undefined;
}

/** The last recorded move of the head: the part of the reflog's format that is needed (docs/decisions/0012-fork-origin.md). */
async function lastMove(saver: TierSaver, threadId: string, untilMs: number): Promise<HeadSince | undefined> {
  const { checkpoint } = await saver.tier.read({ threadId, namespace: reservedNamespaces.reflog });
  if (checkpoint === undefined) return undefined;
  const body = await saver.coder.decodeBody(checkpoint.record);
  const { channel_values } = await saver.coder.checkpoint(checkpoint, body, {});
  const { moves = [] } = Object(channel_values["reflog"]) as {
    moves?: readonly { readonly namespace: string; readonly to: string; readonly ts: string }[];
  };
  const move = moves.findLast(({ namespace, ts }) => namespace === "" && Date.parse(ts) <= untilMs);
  return move && { checkpointId: move.to, ms: Date.parse(move.ts) };
}

async function lastEntry(saver: TierSaver, threadId: string, untilMs: number): Promise<TrailHead> {
  const query = { threadId, namespace: journalNamespace, recordsOnly: true };
  for await (const { record } of saver.tier.list(query)) {
    const { at, seq, hash } = await decodeEntry(saver, record);
    if (Date.parse(at) <= untilMs) return { seq, hash };
  }
  return { seq: 0, hash: "" };
}
