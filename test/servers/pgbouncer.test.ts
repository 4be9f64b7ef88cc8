import pg from "pg";
import { expect, test } from "vitest";
import { available } from "./available.ts";
import { startPgBouncer } from "./pgbouncer.ts";
import { query } from "./postgres.ts";
import { isAlive } from "./process.ts";
import { freshDatabase } from "./shared.ts";

test.skipIf(!available.pgbouncer)(
  "PgBouncer in transaction mode shares one server connection between two clients",
  async () => {
    const database = await freshDatabase();
    const pooler = await startPgBouncer({ target: database.url, extraSettings: { default_pool_size: 1 } });
    const clients = [0, 1].map(() => new pg.Client({ connectionString: pooler.url }));
    try {
      const backends = new Set<unknown>();
      for (const client of clients) {
        await client.connect();
        backends.add((await client.query("select pg_backend_pid() as pid")).rows[0].pid);
      }
      expect(backends.size).toBe(1);
      const [row] = await query(pooler.url, "select current_database() as name");
      expect(`/${row?.["name"]}`).toBe(new URL(database.url).pathname);
    } finally {
      for (const client of clients) await client.end();
      await pooler.stop();
      await database.drop();
    }
    expect(isAlive(pooler.pid)).toBe(false);
    await expect(query(pooler.url, "select 1")).rejects.toThrow("ECONNREFUSED");
  },
);
