import { PostgresSaver } from "@stratigraph/postgres";
import pg from "pg";
import { afterAll, beforeAll, expect, test } from "vitest";
import { query } from "../../../../test/servers/postgres.ts";
import { freshDatabase } from "../../../../test/servers/shared.ts";
import { countedPool } from "./support/countedPool.ts";

// What becomes of items and namespaces with time: reads that let items stay, and namespaces that nobody needs.

let database: Awaited<ReturnType<typeof freshDatabase>>;
let count = 0;
const ends: (() => Promise<void>)[] = [];

beforeAll(async () => {
  database = await freshDatabase();
});

afterAll(async () => {
  for (const end of ends) await end();
  await database.drop();
});

async function opened(): Promise<{ schema: string; saver: PostgresSaver }> {
  const schema = `swept_${(count += 1)}`;
  const saver = PostgresSaver.fromConnString(database.url, { schema });
  ends.push(() => saver.end());
  await saver.setup();
  return { schema, saver };
}

/** A saver whose calls are part of one transaction. */
async function inTransaction(schema: string) {
  const pool = new pg.Pool({ connectionString: database.url, max: 1 });
  await pool.query("begin");
  ends.push(() => pool.end());
  return { pool, store: new PostgresSaver({ pool, schema }).store() };
}

/** Resolves when a connection of this database waits for a lock of items, or `work` is done. */
async function waits(work: Promise<unknown>): Promise<void> {
  const state = { isDone: false };
  void work.finally(() => (state.isDone = true)).catch(() => {});
  const waiting =
    "select 1 from pg_locks where locktype = 'advisory' and classid = 1769237861 and not granted";
  while (!state.isDone && (await query(database.url, waiting)).length === 0);
}

const namespaceCount = async (schema: string): Promise<unknown> =>
  (await query(database.url, `select count(*)::integer as n from ${schema}.item_namespaces`))[0]!["n"];

test("maintenance removes namespaces without items, and no others", async () => {
  const { schema, saver } = await opened();
  const store = saver.store();
  const puts = Array.from({ length: 30 }, (_, n) => ({ namespace: ["a", `${n}`], key: "k", value: { n } }));
  await store.batch(puts);
  await store.batch(puts.filter((_, n) => n % 3 > 0).map((put) => ({ ...put, value: null })));
  await query(
    database.url,
    `insert into ${schema}.item_namespaces (path) values ('\\x00' || 'work'::bytea || '\\x00'), ('')`,
  );
  expect(await namespaceCount(schema)).toBe(32);
  await saver.maintain();
  // Those of workspaces aren't maintenance's.
  expect(await namespaceCount(schema)).toBe(11);
  expect(await store.listNamespaces()).toHaveLength(10);
  await store.put(["a", "1"], "k", { n: "again" });
  expect((await store.search(["a", "1"])).map(({ value }) => value)).toEqual([{ n: "again" }]);
});

test("a put of a namespace's first item, under way while maintenance looks, isn't lost", async () => {
  const { schema, saver } = await opened();
  const store = saver.store();
  await store.put(["a"], "old", {});
  await store.delete(["a"], "old");
  const { pool, store: putting } = await inTransaction(schema);
  await putting.put(["a"], "new", { n: 1 });
  const sweeping = saver.maintain();
  await waits(sweeping);
  await pool.query("commit");
  await sweeping;
  expect((await store.get(["a"], "new"))?.value).toEqual({ n: 1 });
  expect(await store.listNamespaces()).toEqual([["a"]]);
});

test("a put that begins while maintenance removes its namespace makes it anew", async () => {
  const { schema, saver } = await opened();
  const store = saver.store();
  await store.put(["a"], "old", {});
  await store.delete(["a"], "old");
  const { pool } = await inTransaction(schema);
  const { rows } = await pool.query<{ n: string }>(`select ${schema}.sweep_namespaces_1(1000) as n`);
  expect(Number(rows[0]!.n)).toBe(1);
  const putting = store.put(["a"], "new", { n: 1 });
  await waits(putting);
  await pool.query("commit");
  await putting;
  expect((await store.get(["a"], "new"))?.value).toEqual({ n: 1 });
});

test("a batch takes few locks, however many items it has: a server has room for some thousands", async () => {
  const { schema } = await opened();
  const { pool, store } = await inTransaction(schema);
  await store.batch(
    Array.from({ length: 2000 }, (_, n) => ({ namespace: ["a"], key: `k${n}`, value: { n } })),
  );
  const { rows } = await pool.query<{ n: number }>(
    "select count(*)::integer as n from pg_locks where pid = pg_backend_pid() and locktype = 'advisory'",
  );
  expect(rows[0]!.n).toBeLessThanOrEqual(256);
  await pool.query("rollback");
});

test("a get that lets an item stay is one statement, and writes only once a tenth of the time has passed", async () => {
  const { schema } = await opened();
  const counted = countedPool({ connectionString: database.url });
  ends.push(() => counted.pool.end());
  const ttl = [
    { namespace: ["read"], ttl: "100m", refreshOnRead: true },
    { namespace: ["other"], ttl: "100m" },
  ] as const;
  const saver = new PostgresSaver({ pool: counted.pool, schema });
  const store = saver.store({ ttl });
  for (const namespace of [["read"], ["other"], ["kept"]]) await store.put(namespace, "k", { namespace });
  await saver.store().put(["read"], "kept", {});
  /** Minutes that the items have left, after so many are taken from what they had. */
  const left = async (passed: number): Promise<unknown[]> => {
    await query(
      database.url,
      `update ${schema}.items set expires_at = expires_at - interval '${passed} min'`,
    );
    counted.reset();
    const items = await store.batch([
      ...["read", "other", "kept"].map((label) => ({ namespace: [label], key: "k" })),
      { namespace: ["read"], key: "kept" },
    ]);
    expect(counted.sent).toHaveLength(1);
    const rows = await query(
      database.url,
      `select round(extract(epoch from expires_at - now()) / 60)::integer as minutes from ${schema}.items order by version`,
    );
    return rows.map(({ minutes }, n) => (items[n] === null ? "gone" : minutes));
  };
  expect(await left(9)).toEqual([91, 91, null, null]);
  expect(await left(2)).toEqual([100, 89, null, null]);
  expect(await left(95)).toEqual([100, "gone", null, null]);
});
