import { createHash } from "node:crypto";
import type { Blob, CheckpointRecord } from "@stratigraph/core/tier";
import { postgres } from "@stratigraph/postgres";
import pg from "pg";
import { freshDatabase } from "../../../../../test/servers/shared.ts";

/** Length of each chain of patches. */
export const chain = 100;

export type PagesTier = ReturnType<typeof postgres>;

/** A tier on a database of its own whose statements of one kind are explained before they run. */
export interface CountedPages {
  readonly tier: PagesTier;
  readonly client: pg.Client;
  /** How often the last such statement looked at a page. */
  pages(): number;
  close(): Promise<void>;
}

/** Counts for statements that call one of the functions. */
export async function openCounted(functions: readonly string[]): Promise<CountedPages> {
  const database = await freshDatabase();
  const client = new pg.Client({ connectionString: database.url });
  await client.connect();
  let pages = 0;
  /** Explained and taken back: twice, as the first time reads catalogues and plans. */
  const query = async (query: { text: string; values?: unknown[] }): Promise<{ rows: unknown[] }> => {
    const counts = functions.some((name) => query.text.includes(`${name}($1`));
    const times = counts ? 2 : 0;
    for (let n = 0; n < times; n += 1) {
      await client.query("begin");
      const { rows } = await client.query<{ "QUERY PLAN": [{ Plan: Record<string, number> }] }>({
        ...query,
        text: `explain (analyze, buffers, format json) ${query.text}`,
      });
      await client.query("rollback");
      const { Plan } = rows[0]!["QUERY PLAN"][0];
      pages = Plan["Shared Hit Blocks"]! + Plan["Shared Read Blocks"]!;
    }
    return await client.query(query);
  };
  const tier = postgres({ pool: { query } });
  await tier.setup?.();
  // One that comes in between changes statistics, and so plans and the pages that they visit.
  await client.query(
    "do $$ declare t regclass; begin for t in select c.oid::regclass from pg_class c where relnamespace = 'stratigraph'::regnamespace and relkind = 'r' loop execute format('alter table %s set (autovacuum_enabled = false)', t); end loop; end $$",
  );
  return {
    tier,
    client,
    pages: () => pages,
    async close() {
      await client.end();
      await database.drop();
    },
  };
}

/** Id of the nth checkpoint that {@link grow} makes. */
export const idOf = (n: number): string => String(n).padStart(6, "0");
const hashOf = (n: number): string => createHash("sha1").update(String(n)).digest("hex");

/** A thread whose every checkpoint has a value of its own, a patch on the one before; each chain begins with a whole one. */
export async function grow(tier: PagesTier, threadId: string, checkpoints: number): Promise<void> {
  for (let from = 0; from < checkpoints; from += chain) {
    const numbers = Array.from({ length: chain }, (_, n) => from + n);
    const records = numbers.map((n): CheckpointRecord => ({
      threadId,
      namespace: "",
      checkpointId: idOf(n),
      parentId: n === 0 ? undefined : idOf(n - 1),
      terms: [1],
      blobs: [hashOf(n)],
      body: Buffer.alloc(200, "r"),
    }));
    const blobs = numbers.map((n): Blob => ({
      hash: hashOf(n),
      base: n % chain === 0 ? undefined : hashOf(n - 1),
      bytes: Buffer.alloc(400, "b"),
    }));
    const writes = numbers.map((n) => ({
      threadId,
      namespace: "",
      checkpointId: idOf(n),
      taskId: "task",
      blobs: [],
      body: Buffer.alloc(50, "w"),
    }));
    const expected = from === 0 ? [] : [idOf(from - 1)];
    const heads = [{ namespace: "", to: idOf(from + chain - 1), expected }];
    await tier.append({ threadId, records, blobs, writes, heads, onConflict: "refuse" });
  }
}
