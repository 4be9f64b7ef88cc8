// long file: what is particular to PostgreSQL in a store, one short story after another
import { PostgresSaver, type PostgresTier } from "@stratigraph/postgres";
import { randomBytes } from "node:crypto";
import pg from "pg";
import { FakeEmbeddings } from "@langchain/core/utils/testing";
import { afterAll, beforeAll, expect, test } from "vitest";
import { query } from "../../../../test/servers/postgres.ts";
import { embeddedFolder, freshDatabase } from "../../../../test/servers/shared.ts";
import { newestItems } from "../../core/src/items/newestItems.ts";
import { allRounds } from "../../../../test/rounds.ts";
import { testStore } from "../../../tools/testing/src/store/testStore.ts";
import { countedPool } from "./support/countedPool.ts";

// The store's suite on PostgreSQL and PGlite; what its calls cost; expiry; bytes that were changed.

let database: Awaited<ReturnType<typeof freshDatabase>>;
const savers: PostgresSaver[] = [];
let count = 0;

beforeAll(async () => {
  database = await freshDatabase();
});

afterAll(async () => {
  await Promise.all(savers.map((saver) => saver.end()));
  await database.drop();
});

interface Opened {
  readonly schema: string;
  readonly saver: PostgresSaver;
  readonly other: PostgresSaver;
}

async function openPair(): Promise<Opened> {
  const schema = `items_${(count += 1)}`;
  const open = (): PostgresSaver => PostgresSaver.fromConnString(database.url, { schema });
  const [saver, other] = [open(), open()];
  savers.push(saver, other);
  await saver.setup();
  return { schema, saver, other };
}

testStore("PostgreSQL", async () => {
  const { saver, other } = await openPair();
  return { store: saver.store(), other: other.store() };
});

if (allRounds)
  testStore("PGlite", async () => {
    const saver = PostgresSaver.embedded(await embeddedFolder());
    savers.push(saver);
    await saver.setup();
    return { store: saver.store(), other: saver.store() };
  });

test("a get, a put, a search and a listing are one statement each, a batch of many gets and puts two", async () => {
  const { schema } = await openPair();
  const counted = countedPool({ connectionString: database.url });
  const saver = new PostgresSaver({ pool: counted.pool, schema });
  const store = saver.store();
  const costOf = async (work: () => Promise<unknown>): Promise<number> => {
    counted.reset();
    await work();
    return counted.sent.length;
  };
  expect(await costOf(() => store.put(["a", "b"], "k", { n: 1 }))).toBe(1);
  expect(await costOf(() => store.get(["a", "b"], "k"))).toBe(1);
  expect(await costOf(() => store.search(["a"], { filter: { n: 1 } }))).toBe(1);
  expect(await costOf(() => store.listNamespaces({ prefix: ["a"] }))).toBe(1);
  const keys = Array.from({ length: 50 }, (_, n) => `k${n}`);
  const many = keys.flatMap((key) => [
    { namespace: ["a"], key },
    { namespace: ["a"], key, value: { key } },
  ]);
  expect(await costOf(() => store.batch(many))).toBe(2);
  await counted.pool.end();
});

test("a search finds an item whose change was under way, with an earlier version, while it read", async () => {
  const { schema, saver, other } = await openPair();
  const store = saver.store();
  const at = (key: string) => ({ namespace: ["a"], key, value: {} });
  await store.batch(["slow", ...Array.from({ length: 200 }, (_, n) => `k${n}`)].map(at));
  // The change of one item waits, with its new version, until the lock is free.
  const [first] = await query(database.url, `select min(version) as version from ${schema}.items`);
  const client = new pg.Client({ connectionString: database.url });
  await client.connect();
  await client.query("select pg_advisory_lock(4711)");
  await query(
    database.url,
    `create function ${schema}.wait() returns trigger language plpgsql as
       $$ begin perform pg_advisory_xact_lock(4711); return new; end $$;
     create trigger waits before update on ${schema}.items
        for each row when (old.version = ${String(first!["version"])}) execute function ${schema}.wait()`,
  );
  const slow = other.store().put(["a"], "slow", { changed: true });
  const waiting = "select 1 from pg_locks where locktype = 'advisory' and objid = 4711 and not granted";
  while ((await query(database.url, waiting)).length === 0);
  await store.put(["a"], "k0", {});
  const found: string[] = [];
  for await (const { key } of newestItems(
    (saver.tier as PostgresTier).items,
    { prefixes: [["a"]], tests: [] },
    64,
  )) {
    if (found.push(key) !== 1) continue;
    await client.query("select pg_advisory_unlock(4711)");
    await slow;
  }
  await client.end();
  expect(found).toContain("slow");
  expect(found).toHaveLength(201);
});

test("batches that put and delete the same items in different orders don't wait for each other in a circle", async () => {
  const { schema } = await openPair();
  // A deadlock would be an error here: nothing is repeated.
  const saver = PostgresSaver.fromConnString(database.url, { schema, retryFor: "0ms" });
  savers.push(saver);
  const store = saver.store();
  const keys = Array.from({ length: 20 }, (_, n) => `k${n}`);
  await store.batch(keys.map((key) => ({ namespace: ["a"], key, value: {} })));
  const turn = (n: number): Promise<unknown> =>
    store.batch(
      keys.map((key, place) => ({ namespace: ["a"], key, value: (place + n) % 2 === 0 ? null : { n } })),
    );
  for (let round = 0; round < 30; round += 1)
    await Promise.all([0, 1, 2, 3, 4, 5].map((n) => turn(round + n)));
  // Batches of the same items take turns, so what is left is what one of them left.
  expect(await store.search(["a"], { limit: 100 })).toHaveLength(10);
});

/** A store of one connection with many items, and how many rows were read, and how often the index of fields was used. */
async function openCounted() {
  const { schema } = await openPair();
  const counted = countedPool({ connectionString: database.url, max: 1 });
  const store = new PostgresSaver({ pool: counted.pool, schema }).store();
  await store.batch(
    Array.from({ length: 3000 }, (_, n) => ({
      namespace: [`u${n % 300}`],
      key: `k${n}`,
      value: { n, kind: "fact" },
    })),
  );
  await query(database.url, `analyze ${schema}.items, ${schema}.item_namespaces`);
  const scans = async () => {
    await counted.pool.query("select pg_stat_force_next_flush()");
    const [row] = await query(
      database.url,
      `select (select sum(seq_tup_read)::int from pg_stat_user_tables where schemaname = $1)
              + (select sum(idx_tup_read)::int from pg_stat_user_indexes where schemaname = $1) as rows,
              (select idx_scan::int from pg_stat_user_indexes where schemaname = $1 and indexrelname = 'items_fields') as fields`,
      [schema],
    );
    return row as { rows: number; fields: number };
  };
  return { store, scans, end: () => counted.pool.end() };
}

test("a filter that few of many items meet is looked up in an index", async () => {
  const { store, scans, end } = await openCounted();
  const { fields } = await scans();
  const found = await store.search([], { filter: { n: 77 } });
  expect(found.map(({ key }) => key)).toEqual(["k77"]);
  expect((await scans()).fields).toBe(fields + 1);
  await end();
});

test("puts and gets read their own rows, however many namespaces there are", async () => {
  const { store, scans, end } = await openCounted();
  const { rows } = await scans();
  await store.put(["u7"], "k7", { n: 7 });
  await store.put(["new"], "k", { n: 8 });
  await store.delete(["u8"], "k8");
  expect(await store.get(["u7"], "k7")).toMatchObject({ value: { n: 7 } });
  expect(await store.get(["u8"], "k8")).toBeNull();
  // There are 300 namespaces and 3,000 items.
  expect((await scans()).rows - rows).toBeLessThan(100);
  await end();
});

test("items whose time has passed are never returned, count as new when put again, and are removed by maintenance", async () => {
  const { schema, saver } = await openPair();
  const store = saver.store({
    ttl: [
      { namespace: ["cache"], ttl: "1h" },
      { namespace: ["cache", "short"], ttl: "1m" },
    ],
  });
  await store.batch([
    { namespace: ["cache"], key: "k", value: { n: 1 } },
    { namespace: ["cache", "short"], key: "k", value: { n: 2 } },
    { namespace: ["kept"], key: "k", value: { n: 3 } },
  ]);
  const left = await query(
    database.url,
    `select extract(epoch from expires_at - now())::integer as seconds from ${schema}.items order by version`,
  );
  expect(left.map((row) => row["seconds"])).toEqual([3600, 60, null]);
  await query(
    database.url,
    `update ${schema}.items set expires_at = now() - interval '1 s', created_at = '2020-01-01' where expires_at is not null`,
  );
  expect(await store.get(["cache"], "k")).toBeNull();
  expect((await store.search([])).map(({ value }) => value)).toEqual([{ n: 3 }]);
  expect(await store.listNamespaces()).toEqual([["kept"]]);
  await store.put(["cache"], "k", { n: 4 });
  expect((await store.get(["cache"], "k"))!.createdAt.getFullYear()).toBeGreaterThan(2020);
  await saver.maintain();
  expect(await query(database.url, `select count(*)::integer as n from ${schema}.items`)).toEqual([{ n: 2 }]);
});

test("a changed byte, and a value that was moved to another item, is CORRUPT and names the item", async () => {
  const { schema, saver } = await openPair();
  const store = saver.store();
  await store.put(["a"], "one", { text: "a value that is long enough", n: 1 });
  await store.put(["a"], "two", { text: "another one of this kind", n: 2 });
  await query(
    database.url,
    `update ${schema}.items i set value = (select value from ${schema}.items o where o.version <> i.version)`,
  );
  await expect(store.get(["a"], "one")).rejects.toMatchObject({
    code: "CORRUPT",
    data: { namespace: ["a"], key: "one" },
  });
  await store.put(["b"], "fresh", { text: "a value that is long enough", n: 3 });
  expect(await store.search(["b"])).toHaveLength(1);
  for (const place of [2, 5, 20]) {
    const flip = `update ${schema}.items set value = set_byte(value, ${place}, 255 - get_byte(value, ${place}))`;
    await query(database.url, flip);
    await expect(store.search(["b"])).rejects.toMatchObject({ code: "CORRUPT", data: { key: "fresh" } });
    await query(database.url, flip);
  }
  expect(await store.search(["b"])).toHaveLength(1);
});

test("a page of a search has a bounded number of bytes, and pages join", async () => {
  const { saver } = await openPair();
  const store = saver.store();
  const sizes = [1, 3, 9, 3, 3, 3, 0, 10, 4, 4, 1];
  const [megabyte, count] = [1024 * 1024, sizes.length];
  for (const [n, size] of sizes.entries())
    await store.put(["large"], `k${n}`, { n, bytes: randomBytes(size * megabyte) });
  const { items } = saver.tier as PostgresTier;
  const pages: number[][] = [];
  let before: number | undefined;
  for (let more = true; more;) {
    const page = await items.search({ prefixes: [["large"]], tests: [], before, limit: 4 });
    pages.push(page.items.map(({ key }) => Number(key.slice(1))));
    ({ more } = page);
    before = page.items.at(-1)?.version;
  }
  expect(pages).toEqual([[10, 9], [8], [7], [6, 5, 4], [3], [2], [1, 0]]);
  const found = await store.search(["large"], { filter: { n: { $gte: 0 } }, limit: count });
  expect(found.map(({ value }) => value["n"])).toEqual(sizes.map((_, n) => count - 1 - n));
});

const hashKey = randomBytes(32);
const keys = { one: randomBytes(32), two: randomBytes(32) };
const encryptedWith = (activeKey: keyof typeof keys) => ({ encryption: { keys, activeKey, hashKey } });

if (allRounds)
  testStore("PostgreSQL, encrypted", async () => {
    const { schema } = await openPair();
    const open = (): PostgresSaver => {
      savers.push(PostgresSaver.fromConnString(database.url, { schema, ...encryptedWith("one") }));
      return savers.at(-1)!;
    };
    return { store: open().store(), other: open().store() };
  });

test("beside an encrypted value no field can be read, also where it was plain before, and filters find it", async () => {
  const { schema, saver: plain } = await openPair();
  const saver = PostgresSaver.fromConnString(database.url, { schema, ...encryptedWith("one") });
  savers.push(saver);
  const rows = async (): Promise<readonly Record<string, unknown>[]> =>
    await query(
      database.url,
      `select fields::text, version, created_at, updated_at, expires_at,
              (select count(*)::integer from ${schema}.item_vectors v where v.ns = i.ns and v.key = i.key) as vectors
         from ${schema}.items i order by version`,
    );
  const item = (n: number) => ({ text: `a secret of Anna, the ${n}th of them`, kind: "fact", n });
  const index = { dims: 4, embeddings: new FakeEmbeddings() };
  await plain.store({ ttl: "1h", index }).put(["a"], "plain", item(1));
  await plain.store({ index }).put(["a"], "sealed", item(0));
  await plain.store().put(["a"], "other", item(2));
  await saver.store().put(["a"], "sealed", item(3));
  const [before, rest] = [await rows(), ["version", "created_at", "updated_at", "expires_at"]];
  expect(before.map(({ fields }) => fields === "true")).toEqual([false, false, true]);
  expect(before.map(({ vectors }) => vectors)).toEqual([1, 0, 0]);
  const found = async (from: PostgresSaver, filter: object): Promise<string[]> =>
    (await from.store().search(["a"], { filter })).map(({ key }) => key);
  const filters: [object, string[]][] = [
    [{ n: { $gt: 1 } }, ["sealed", "other"]],
    [{ n: 3, kind: "fact" }, ["sealed"]],
    [{ n: { $in: [1, 3] } }, ["sealed", "plain"]],
    [{ none: { $exists: false }, kind: { $exists: true } }, ["sealed", "other", "plain"]],
    [{ kind: { $in: [] } }, []],
  ];
  for (const [filter, expected] of filters) expect(await found(saver, filter)).toEqual(expected);
  // Rather than that there is nothing.
  for (const [filter] of filters)
    await expect(found(plain, filter)).rejects.toMatchObject({ code: "KEY_MISSING" });

  expect(await saver.reencrypt()).toMatchObject({ items: 2, failures: 0 });
  const after = await rows();
  expect(after.map(({ fields, vectors }) => [fields, vectors])).toEqual(after.map(() => ["true", 0]));
  const kept = (all: typeof after) => all.map((row) => rest.map((name) => row[name]));
  expect(kept(after)).toEqual(kept(before));
  for (const [filter, expected] of filters) expect(await found(saver, filter)).toEqual(expected);
  expect((await plain.keysInUse()).keys).toMatchObject([{ keyId: "one", items: 3 }]);
});

test("encrypting anew waits for nobody: an item that a transaction holds is reported, and done later", async () => {
  const { schema, saver: plain } = await openPair();
  const saver = PostgresSaver.fromConnString(database.url, { schema, ...encryptedWith("two") });
  savers.push(saver);
  const store = plain.store();
  for (const key of ["a", "b", "c"]) await store.put([key], key, { key });
  const { pool } = countedPool({ connectionString: database.url, max: 1 });
  const client = await pool.connect();
  await client.query("begin");
  await client.query(`update ${schema}.items set expires_at = null where fields @> '{"key": "b"}'`);
  expect(await saver.reencrypt()).toMatchObject({
    items: 2,
    failures: 1,
    failed: [{ error: { code: "OVERLOADED" } }],
  });
  expect((await saver.keysInUse()).keys).toMatchObject([{ items: 1 }, { keyId: "two", items: 2 }]);
  await client.query("rollback");
  client.release();
  await pool.end();
  expect(await saver.reencrypt()).toMatchObject({ items: 1, failures: 0 });
  expect((await saver.keysInUse()).keys).toMatchObject([{ keyId: "two", items: 3 }]);
});
