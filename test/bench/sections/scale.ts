import { growingThread } from "../scale/growingThread.ts";
import { syntheticStates } from "../scale/syntheticStates.ts";
import type { BenchContext, Table } from "../types.ts";

export const name = "scale";
export const order = 40;
export const needsPostgresSaver = true;

/** What checkpoints cost as threads and states grow: conversations joined into one thread, and states of other shapes. */
export async function run(context: BenchContext): Promise<Table[]> {
  return [await growingThread(context), await syntheticStates(context)];
}
