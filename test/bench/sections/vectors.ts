import { mkdtemp, rm } from "node:fs/promises";
import { loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { ms } from "../format.ts";
import type { VectorSearchInput, VectorSearchResult } from "../jobs/vectorSearch.ts";
import type { BenchContext, Table } from "../types.ts";

export const name = "vectors";
export const order = 76;

const dims = 256;

/** A store's search by vectors on PostgreSQL without pgvector, on PGlite with it, and in memory. */
export async function run(context: BenchContext): Promise<Table> {
  const { quick } = context.options;
  const items = quick ? 2000 : 100_000;
  const folder = await mkdtemp(join(tmpdir(), "vectors-"));
  const rows: string[][] = [];
  for (const [storage, config] of [
    ["PostgreSQL, without pgvector", { postgres: context.postgresUrl }],
    ["PGlite, with pgvector", { pglite: join(folder, "data") }],
    ["memory", { memory: true }],
  ] as const) {
    const result = await context.inChild<VectorSearchResult>(
      new URL("../jobs/vectorSearch.ts", import.meta.url),
      { config, items, dims, searches: quick ? 3 : 10 } satisfies VectorSearchInput,
    );
    rows.push([storage, ms(result.someMs), ms(result.allMs), ms(result.fillMs / items)]);
  }
  await rm(folder, { recursive: true });
  return {
    title: `Search by vectors: ${items} items of ${dims} dims, p50`,
    columns: ["", "below a prefix of 1000", "all", "put, each in batches of 1000"],
    rows,
    notes: [`Load average ${loadavg()[0]!.toFixed(1)} at the end.`],
  };
}
