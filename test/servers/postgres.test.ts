import { existsSync } from "node:fs";
import { expect, test } from "vitest";
import { available } from "./available.ts";
import { query, startPostgres, startReplica } from "./postgres.ts";
import { isAlive, waitUntil } from "./process.ts";

test.skipIf(!available.postgres)(
  "PostgreSQL starts, survives kill and restart with its data, and leaves nothing behind",
  async () => {
    const server = await startPostgres({ fsync: true, extraSettings: { max_connections: 17 } });
    try {
      await query(server.url, "create table t as select 42 as answer");
      expect(await query(server.url, "show max_connections")).toEqual([{ max_connections: "17" }]);
      expect(await query(server.url, "show fsync")).toEqual([{ fsync: "on" }]);
      const before = server.pids;
      expect(before.length).toBeGreaterThan(3);

      await server.kill();
      expect(before.filter(isAlive)).toEqual([]);
      await expect(query(server.url, "select 1")).rejects.toThrow("ECONNREFUSED");

      await server.start();
      await server.restart({ mode: "immediate" });
      await server.restart({ mode: "fast" });
      expect(await query(server.url, "select answer from t")).toEqual([{ answer: 42 }]);
    } finally {
      const pids = server.pids;
      await server.stop();
      expect(pids.filter(isAlive)).toEqual([]);
      expect(existsSync(server.dataDir)).toBe(false);
      await expect(query(server.url, "select 1")).rejects.toThrow("ECONNREFUSED");
    }
  },
);

test.skipIf(!available.postgres)("a replica follows, can lag, and can be promoted", async () => {
  const primary = await startPostgres();
  const replica = await startReplica(primary);
  try {
    await query(primary.url, "create table t (n int)");
    await replica.caughtUp();
    await expect(query(replica.url, "insert into t values (1)")).rejects.toThrow("read-only");

    await replica.pauseReplay();
    await query(primary.url, "insert into t values (1)");
    expect(await query(replica.url, "select n from t")).toEqual([]);
    await replica.resumeReplay();
    await waitUntil("the row", async () => (await query(replica.url, "select n from t")).length === 1);

    await primary.kill();
    await replica.promote();
    await query(replica.url, "insert into t values (2)");
    expect(await query(replica.url, "select n from t order by n")).toEqual([{ n: 1 }, { n: 2 }]);
  } finally {
    await replica.stop();
    await primary.stop();
  }
  expect(existsSync(replica.dataDir)).toBe(false);
});
