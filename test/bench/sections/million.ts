import { manyThreads } from "../scale/manyThreads.ts";
import type { BenchContext, Table } from "../types.ts";

export const name = "million";
export const order = 45;
export const needsPostgresSaver = true;

/** What a database of 1,000,000 checkpoints in 20,000 threads costs, against one that is nearly empty. */
export async function run(context: BenchContext): Promise<Table[]> {
  return await manyThreads(context);
}
