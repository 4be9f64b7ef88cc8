import { postgres, type PostgresTier } from "@stratigraph/postgres";
import type pg from "pg";
import { onTestFinished } from "vitest";
import { waitUntil } from "../../../../../test/servers/process.ts";

/** A transaction that stays open, in which a tier does what it is told. What it wrote is locked, and nobody else sees it yet. */
export interface OpenTransaction {
  readonly tier: PostgresTier;
  commit(): Promise<void>;
}

/** Begins a transaction on a connection of its own, which ends with the test at the latest. */
export async function openTransaction(pool: pg.Pool): Promise<OpenTransaction> {
  const client = await pool.connect();
  let isOpen = true;
  onTestFinished(() => {
    // Not given back but closed, which takes back what was written.
    if (isOpen) client.release(true);
  });
  await client.query("begin");
  return {
    tier: postgres({ pool: { query: async ({ text, values }) => await client.query(text, values) } }),
    commit: async () => {
      await client.query("commit");
      isOpen = false;
      client.release();
    },
  };
}

/**
 * Waits until so many statements of the pool's database wait for a lock, or until `call`, which may be one of them, has ended.
 * @returns which of the two it was
 */
export async function waitsOrEnds(
  pool: pg.Pool,
  call: Promise<unknown>,
  statements = 1,
): Promise<"waits" | "ended"> {
  let ended = false;
  const end = (): void => void (ended = true);
  call.then(end, end);
  return await waitUntil(`${statements} statements that wait for a lock`, async () => {
    const { rows } = await pool.query<{ waiting: number }>(
      `select count(*)::integer as waiting from pg_stat_activity
        where datname = current_database() and wait_event_type = 'Lock'`,
    );
    if (ended) return "ended";
    return rows[0]!.waiting >= statements ? "waits" : undefined;
  });
}
