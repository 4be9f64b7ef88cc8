import { manyThreads } from "../scale/manyThreads.ts";
import type { BenchContext, Table } from "../types.ts";

export const name = "million";
export const order = 45;
export const needsPostgresSaver = true;

/** The cost of a database of 1,000,000 checkpoints in 20,000 threads, compared with one that is nearly empty. */
export async function run(context: BenchContext): Promise<Table[]> {
  return await manyThreads(context);
}
