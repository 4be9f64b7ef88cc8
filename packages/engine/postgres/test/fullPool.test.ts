import { PostgresSaver } from "@stratigraph/postgres";
import pg from "pg";
import { afterEach, beforeEach, expect, test } from "vitest";
import { query, startPostgres } from "../../../../test/servers/postgres.ts";
import { available } from "../../../../test/servers/available.ts";
import { freshDatabase } from "../../../../test/servers/shared.ts";
import { at } from "./support/checkpoints.ts";

// A pool of which others hold all connections isn't a server that is down.

let database: Awaited<ReturnType<typeof freshDatabase>>;
beforeEach(async () => {
  database = await freshDatabase();
  const saver = PostgresSaver.fromConnString(database.url);
  await saver.setup();
  await saver.end();
});
afterEach(() => database.drop());

test.each([
  ["with a limit of waiting", { connectionTimeoutMillis: 200 }],
  ["without one", {}],
])("all connections in use, %s: the error says so, and who may hold them", async (_, limit) => {
  const pool = new pg.Pool({ connectionString: database.url, max: 2 });
  const saver = new PostgresSaver({ pool, retryFor: "300ms", statementTimeout: "300ms" });
  const held = await Promise.all([pool.connect(), pool.connect()]);
  // From here on: opening connections takes long on a busy machine.
  Object.assign(pool.options, limit);
  try {
    await held[0]!.query("begin");
    const errors = await Promise.all(
      [1, 2, 3].map(() => saver.getTuple(at("t")).catch((error: unknown) => error)),
    );
    for (const error of errors) {
      expect(error).toMatchObject({
        code: "UNAVAILABLE",
        retryable: true,
        data: { connections: 2, forMs: 300 },
      });
      expect(String(error)).toContain("All 2 connections of the pool have been in use for at least 300 ms");
      expect(String(error)).toMatch(/Of the \d+ sessions of user postgres there, 1 hold a transaction open/);
      expect(String(error)).not.toContain("Check that the server runs");
    }
  } finally {
    for (const client of held) client.release(true);
  }
  Object.assign(pool.options, { connectionTimeoutMillis: 0 });
  expect(await new PostgresSaver({ pool }).getTuple(at("t"))).toBeUndefined();
  await saver.end();
  await pool.end();
});

test("a saver's own pool, whose statements wait for a lock, is named as well", async () => {
  const url = new URL(database.url);
  url.searchParams.set("max", "1");
  const saver = PostgresSaver.fromConnString(url.href, { retryFor: "300ms", statementTimeout: "300ms" });
  const locker = new pg.Client({ connectionString: database.url });
  await locker.connect();
  await locker.query("begin; lock table stratigraph.threads");
  try {
    // A heavy statement may take six times as long as waiting for a connection.
    const first = saver.deleteThread("t").catch((error: unknown) => error);
    const second = await saver.getTuple(at("t")).catch((error: unknown) => error);
    expect(String(second)).toContain("The only connection of the pool has been in use for at least 300 ms");
    await locker.query("rollback");
    await first;
  } finally {
    await locker.end();
    await saver.end();
  }
});

test.skipIf(!available.postgres)(
  "a full pool of connections to a server that is down is no full pool",
  async () => {
    const server = await startPostgres();
    const pool = new pg.Pool({ connectionString: server.url, max: 1 });
    const saver = new PostgresSaver({ pool, retryFor: "300ms", statementTimeout: "300ms" });
    const held = await pool.connect();
    held.on("error", () => undefined);
    Object.assign(pool.options, { connectionTimeoutMillis: 200 });
    try {
      await query(server.url, "select 1");
      await server.stop();
      const error = await saver.getTuple(at("t")).catch((reason: unknown) => reason);
      expect(error).toMatchObject({ code: "UNAVAILABLE" });
      expect(String(error)).toContain("Check that the server runs");
    } finally {
      held.release(true);
      await saver.end();
      await pool.end();
    }
  },
);
