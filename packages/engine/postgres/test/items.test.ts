import { afterAll, beforeAll, expect, test } from "vitest";
import { query } from "../../../../test/servers/postgres.ts";
import { embeddedFolder } from "../../../../test/servers/shared.ts";
import { countedPool } from "./support/countedPool.ts";
import { PostgresSaver } from "@stratigraph/postgres";
import { freshDatabase } from "../../../../test/servers/shared.ts";
import { testStore, type StorePair } from "../../../tools/testing/src/store/testStore.ts";

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

async function pairOn(): Promise<PostgresSaver[]> {
  const schema = `items_${(count += 1)}`;
  const pair = [0, 1].map(() => PostgresSaver.fromConnString(database.url, { schema }));
  savers.push(...pair);
  await pair[0]!.setup();
  return pair;
}

/** One storage for a whole suite: setting up takes longer than a test. */
function emptied(open: () => Promise<PostgresSaver[]>): () => Promise<StorePair> {
  let opened: Promise<PostgresSaver[]> | undefined;
  return async () => {
    const pair = await (opened ??= open());
    const [store, other] = [pair[0]!.store(), pair.at(-1)!.store()];
    const items = await store.search([], { limit: 10_000 });
    await store.batch(items.map(({ namespace, key }) => ({ namespace, key, value: null })));
    return { store, other };
  };
}

testStore("PostgreSQL", emptied(pairOn));

testStore(
  "PGlite",
  emptied(async () => {
    const saver = PostgresSaver.embedded(await embeddedFolder());
    savers.push(saver);
    await saver.setup();
    return [saver];
  }),
);

test("a get, a put, a search and a listing are one statement each, a batch of many gets and puts two", async () => {
  await pairOn();
  const counted = countedPool({ connectionString: database.url });
  const saver = new PostgresSaver({ pool: counted.pool, schema: `items_${count}` });
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

test("batches that put and delete the same items in different orders don't wait for each other in a circle", async () => {
  await pairOn();
  // A deadlock would be an error here: nothing is repeated.
  const saver = PostgresSaver.fromConnString(database.url, { schema: `items_${count}`, retryFor: "0ms" });
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
  const left = await store.search(["a"], { limit: 100 });
  expect(new Set(left.map(({ key }) => key)).size).toBe(left.length);
});

test("a filter that few of many items meet is looked up in an index", async () => {
  const [saver] = await pairOn();
  const store = saver!.store();
  await store.batch(
    Array.from({ length: 3000 }, (_, n) => ({
      namespace: [`u${n % 30}`],
      key: `k${n}`,
      value: { n, kind: "fact" },
    })),
  );
  await query(database.url, `analyze items_${count}.items`);
  const found = await store.search([], { filter: { n: 77 } });
  expect(found.map(({ key }) => key)).toEqual(["k77"]);
  const plan = await query(
    database.url,
    `explain select 1 from items_${count}.items i where i.fields @@ '$."n" == 77'::jsonpath`,
  );
  expect(JSON.stringify(plan)).toContain("items_fields");
});

test("items whose time has passed are never returned, count as new when put again, and are removed by maintenance", async () => {
  const [saver] = await pairOn();
  const schema = `items_${count}`;
  const store = saver!.store({
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
  await saver!.maintain();
  expect(await query(database.url, `select count(*)::integer as n from ${schema}.items`)).toEqual([{ n: 2 }]);
});

test("a changed byte, and a value that was moved to another item, is CORRUPT and names the item", async () => {
  const [saver] = await pairOn();
  const schema = `items_${count}`;
  const store = saver!.store();
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
  await query(
    database.url,
    `update ${schema}.items set value = set_byte(value, 5, 255 - get_byte(value, 5))`,
  );
  await expect(store.search(["a"])).rejects.toMatchObject({ code: "CORRUPT" });
});
