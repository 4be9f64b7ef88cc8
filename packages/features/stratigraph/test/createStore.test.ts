import { createStore, redis, type TierSaver } from "stratigraph";
import { afterAll, beforeAll, expect, test } from "vitest";
import { embeddedFolder, freshDatabase, sharedRedis } from "../../../../test/servers/shared.ts";
import { testStore } from "../../../tools/testing/src/store/testStore.ts";
import { createCheckpointer } from "../src/createCheckpointer.ts";

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

testStore("a stack", async () => {
  const store = stack.store();
  const items = await store.search([], { limit: 10_000 });
  await store.batch(items.map(({ namespace, key }) => ({ namespace, key, value: null })));
  return { store, other: alone.store() };
});

test("a store on a folder is there when it is opened again, and closes what it opened", async () => {
  const folder = await embeddedFolder();
  {
    await using store = await createStore({ pglite: folder });
    await store.put(["users", "anna"], "drink", { text: "tea" });
  }
  await using store = await createStore({ pglite: folder });
  expect((await store.get(["users", "anna"], "drink"))!.value).toEqual({ text: "tea" });
});

test("a storage that keeps no items is refused by name, and nothing stays open", async () => {
  const { url } = await sharedRedis();
  await expect(createStore({ redis: url })).rejects.toMatchObject({
    code: "INVALID_OPTION",
    data: { field: "store" },
  });
});
