import { configOf, type Address, type TierSaver } from "@stratigraph/core";
import { readPoint, type Point } from "./point.ts";
import { recordMove } from "./reflog.ts";

/** A head that was moved. */
export interface Promoted extends Address {
  /** The head before; absent where there was none. */
  readonly from: string | undefined;
}

/**
 * Makes a checkpoint the head of its namespace: a side branch's tip, or an old checkpoint. The move is recorded and
 * {@link undo} takes it back; nothing is lost by it.
 * @throws NotFoundError; CheckpointConflictError if the head moves meanwhile
 */
export async function promote(
  saver: TierSaver,
  at: Point & { readonly checkpointId: string },
): Promise<Promoted> {
  const point = await readPoint(saver, at);
  return await moveHead(saver, point.at, "promote");
}

/** Moves a head and records why. */
export async function moveHead(
  saver: TierSaver,
  at: Address,
  kind: "promote" | "undo" | "fast-forward",
): Promise<Promoted> {
  const from = await saver.promote(configOf(at));
  if (from !== at.checkpointId) {
    const ts = new Date().toISOString();
    await recordMove(saver, at.threadId, { kind, namespace: at.namespace, from, to: at.checkpointId, ts });
  }
  return { ...at, from };
}
