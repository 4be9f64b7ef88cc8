import { randomBytes } from "node:crypto";
import { PostgresSaver } from "@stratigraph/postgres";
import { afterAll, beforeAll, expect, test } from "vitest";
import { query } from "../../../../test/servers/postgres.ts";
import { embeddedFolder, freshDatabase } from "../../../../test/servers/shared.ts";
import { testStoreIndex } from "../../../tools/testing/src/store/testStoreIndex.ts";
import { WordEmbeddings } from "../../../tools/testing/src/store/wordEmbeddings.ts";
import { openPgLite, PgLiteExecutor } from "../src/connection/pgliteExecutor.ts";
import { resolveDatabaseOptions } from "../src/options.ts";
import { PostgresTier } from "../src/postgresTier.ts";
import { countedPool } from "./support/countedPool.ts";
import { allRounds } from "../../../../test/rounds.ts";

// The suite of a store's index on PostgreSQL and PGlite, without and with pgvector.

let database: Awaited<ReturnType<typeof freshDatabase>>;
const savers: PostgresSaver[] = [];

beforeAll(async () => {
  database = await freshDatabase();
});

afterAll(async () => {
  await Promise.all(savers.map((saver) => saver.end()));
  await database.drop();
});

testStoreIndex("PostgreSQL", async () => {
  const saver = PostgresSaver.fromConnString(database.url, { schema: "index" });
  savers.push(saver);
  await saver.setup();
  return (options) => saver.store(options);
});

/** A saver on a folder, as if the package of pgvector were installed or not. */
async function embedded(folder: string, hasVector: boolean): Promise<PostgresSaver> {
  const opening = () => (hasVector ? openPgLite(folder) : openPgLite(folder, undefined, async () => ({})));
  const executor = new PgLiteExecutor(opening, resolveDatabaseOptions({}));
  const saver = new PostgresSaver(new PostgresTier(executor, "stratigraph", "pglite"));
  savers.push(saver);
  await saver.setup();
  return saver;
}

testStoreIndex("PGlite", async () => {
  const saver = await embedded(await embeddedFolder(), false);
  return (options) => saver.store(options);
});

if (allRounds)
  testStoreIndex("PGlite with pgvector", async () => {
    const saver = await embedded(await embeddedFolder(), true);
    return (options) => saver.store(options);
  });

const index = { dims: 64, embeddings: new WordEmbeddings(64), fields: ["text"] };

const texts = ["green tea", "black tea", "the team met", "coffee in the morning", "hope"];

test("pgvector multiplies where it is loaded; without it, an embedded database that had it finds the same", async () => {
  const folder = await embeddedFolder();
  const found: { key: string; score: number }[][] = [];
  for (const hasVector of [true, false, true, false]) {
    await using saver = await embedded(folder, hasVector);
    const store = saver.store({ index });
    if (found.length === 0) for (const text of texts) await store.put(["a"], text, { text });
    for (let time = 0; time < 2; time += 1) {
      const items = await store.search(["a"], { query: "tea in the morning" });
      found.push(items.map(({ key, score }) => ({ key, score: score! })));
      // pgvector's sums are of single precision.
      expect(items.every(({ score }) => Math.fround(score!) === score)).toBe(hasVector);
    }
  }
  for (const one of found) {
    expect(one.map(({ key }) => key)).toEqual(found[0]!.map(({ key }) => key));
    for (const [place, { score }] of one.entries()) expect(score).toBeCloseTo(found[0]![place]!.score, 5);
  }
});

test("on a server, nothing is created, a put or a search is one statement, and vectors go with their item", async () => {
  const counted = countedPool({ connectionString: database.url });
  const schema = "counted%s";
  const saver = new PostgresSaver({ pool: counted.pool, schema });
  await saver.setup();
  const store = saver.store({ index, ttl: "1h" });
  const costOf = async (work: () => Promise<unknown>): Promise<number> => {
    counted.reset();
    await work();
    return counted.sent.length;
  };
  const vectors = async (): Promise<unknown> =>
    (await query(database.url, `select count(*)::integer as n from "${schema}".item_vectors`))[0]!["n"];
  expect(await costOf(() => store.put(["a"], "k", { text: "tea" }))).toBe(1);
  expect(await costOf(() => store.search(["a"], { query: "tea" }))).toBe(1);
  await store.batch(texts.map((text) => ({ namespace: ["a"], key: text, value: { text } })));
  expect(await vectors()).toBe(6);
  await store.put(["a"], "k", { title: "no text" });
  await store.delete(["a"], "hope");
  expect(await vectors()).toBe(4);
  // Whatever else changes an item makes its vector stale.
  await saver.store().put(["a"], "green tea", { text: "other" });
  const stale = (await store.search(["a"], { query: "green tea" })).at(0)!;
  expect(stale.key).toBe("black tea");
  await query(database.url, `update "${schema}".items set expires_at = now() - interval '1 s'`);
  expect(await store.search(["a"], { query: "tea" })).toEqual([]);
  await saver.maintain();
  expect(await vectors()).toBe(0);
  expect(await query(database.url, "select extname from pg_extension")).toEqual([{ extname: "plpgsql" }]);
  await counted.pool.end();
});

test("a page of large values goes on after its last item", async () => {
  const saver = PostgresSaver.fromConnString(database.url, { schema: "pages" });
  savers.push(saver);
  await saver.setup();
  const store = saver.store({ index });
  // Random bytes can't be compressed.
  const large = (): string => randomBytes(1_500_000).toString("base64");
  const keys = Array.from({ length: 9 }, (_, n) => `k${n}`);
  for (const [n, key] of keys.entries()) await store.put(["a"], key, { text: texts[n], large: large() });
  const all = await store.search(["a"], { query: "tea" });
  expect(all.map(({ key }) => key).toSorted()).toEqual(keys);
  const page = await (saver.tier as PostgresTier).items.nearest({
    prefixes: [["a"]],
    tests: [],
    vector: new Float32Array(64),
    limit: 9,
  });
  expect(page.more).toBe(true);
  expect(page.items.length).toBeLessThan(9);
});
