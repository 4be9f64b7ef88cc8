import { createStore, redis, type TierSaver } from "stratigraph";
import { afterAll, beforeAll, expect, test } from "vitest";
import { query } from "../../../../test/servers/postgres.ts";
import { embeddedFolder, freshDatabase, sharedRedis } from "../../../../test/servers/shared.ts";
import { testStore } from "../../../tools/testing/src/store/testStore.ts";
import { testWorkspaceTier } from "../../../tools/testing/src/store/testWorkspaceTier.ts";
import { testStoreIndex } from "../../../tools/testing/src/store/testStoreIndex.ts";
import { createCheckpointer } from "../src/createCheckpointer.ts";
import { allRounds } from "../../../../test/rounds.ts";

let database: Awaited<ReturnType<typeof freshDatabase>>;
let stack: TierSaver;
let alone: TierSaver;

beforeAll(async () => {
  database = await freshDatabase();
  const { url, prefix } = await sharedRedis();
  stack = await createCheckpointer({ hot: [redis({ url, prefix })], warm: database.url });
  alone = await createCheckpointer({ postgres: database.url });
});

afterAll(async () => {
  await stack.end();
  await alone.end();
  await database.drop();
});

testStore("a stack", async () => ({ store: stack.store(), other: alone.store() }));

// With few rounds its tiers alone, in their own packages.
if (allRounds) {
  testWorkspaceTier("a stack", async () => ({ tier: stack.tier, other: alone.tier }));
  testStoreIndex("a stack", async () => (options) => stack.store(options));
}

test("a store on a folder is there when it is opened again, and closes what it opened", async () => {
  const folder = await embeddedFolder();
  {
    await using store = await createStore({ pglite: folder });
    await store.put(["users", "anna"], "drink", { text: "tea" });
  }
  await using store = await createStore({ pglite: folder });
  expect((await store.get(["users", "anna"], "drink"))!.value).toEqual({ text: "tea" });
});

test("a storage that keeps no items is refused by name", async () => {
  await expect(createStore({ warm: `file:${await embeddedFolder()}` })).rejects.toMatchObject({
    code: "INVALID_OPTION",
    data: { field: "store" },
  });
});

test("where a store is refused, nothing stays open", async () => {
  const url = `${database.url}?application_name=refused`;
  const connections = async (): Promise<unknown> =>
    await query(database.url, "select pid from pg_stat_activity where application_name = 'refused'");
  const checkpointer = await createCheckpointer(url);
  expect(await connections()).toHaveLength(1);
  await checkpointer.end();
  await expect.poll(connections).toEqual([]);
  await expect(createStore(url, { ttl: "soon" as never })).rejects.toMatchObject({ data: { field: "ttl" } });
  await expect.poll(connections).toEqual([]);
});
